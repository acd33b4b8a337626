"""Factors, systems and inverses of matrices."""
