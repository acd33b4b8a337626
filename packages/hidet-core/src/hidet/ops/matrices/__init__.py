"""Linear algebra: factors, systems and inverses of matrices."""
