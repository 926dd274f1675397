"""A computing party of a study."""
