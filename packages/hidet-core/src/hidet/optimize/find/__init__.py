"""Operators that are written out are found again."""
