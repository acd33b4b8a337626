"""Sums, norms and statistics along axes."""
