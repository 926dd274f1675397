"""One page for people: what was released, what protects it, what it cost, and how good it may be."""
