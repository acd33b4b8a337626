"""What users see of a compiled model: the coverage, and a file that needs no PyTorch."""
