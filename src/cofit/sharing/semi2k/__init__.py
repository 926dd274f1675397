"""``semi2k``: additive sharing among two or more parties, passive security, with a dealer."""
