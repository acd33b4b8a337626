"""Reductions and normalization."""
