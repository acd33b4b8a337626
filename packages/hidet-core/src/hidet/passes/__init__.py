"""Kernel to kernel, one pass per file; pipeline.py lists them."""
