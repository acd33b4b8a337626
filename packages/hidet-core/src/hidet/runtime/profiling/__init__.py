"""Times of kernels, as tables, files and ranges of NVTX."""
