"""Kernels, launches, buffers and constants of a graph, in order."""
