"""A data owner of a study."""
