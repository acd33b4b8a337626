"""Matmuls and attention."""
