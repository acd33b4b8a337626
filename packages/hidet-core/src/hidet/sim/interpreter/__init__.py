"""Statements and expressions as numpy functions of all threads at once."""
