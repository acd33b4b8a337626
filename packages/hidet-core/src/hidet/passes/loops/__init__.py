"""Loops split, unrolled, made of vectors."""
