"""Replicated sharing among an odd number of parties, of whom a minority may do anything."""
