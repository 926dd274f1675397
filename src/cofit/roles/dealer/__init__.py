"""The dealer of a study."""
