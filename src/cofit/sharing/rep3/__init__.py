"""``rep3``: replicated sharing among three parties, passive security."""
