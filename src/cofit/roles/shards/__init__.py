"""Shards of a party: workers of its cluster that hold some rows each, and their head."""
