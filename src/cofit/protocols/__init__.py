"""Secure functions on secret values, one file each."""
