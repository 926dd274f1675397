"""Oblivious transfer between two parties alone, with passive security."""
