"""``rep4``: replicated sharing among four parties, active security with abort."""
