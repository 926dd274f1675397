"""``clear``: the cleartext twin of the schemes."""
