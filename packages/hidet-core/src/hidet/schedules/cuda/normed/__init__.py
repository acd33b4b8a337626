"""Matmuls that produce, or consume, normalisation statistics of their rows."""
