"""An analyst of a study."""
