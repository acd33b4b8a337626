"""Lowered kernels become text: CUDA C++ for NVRTC, C++ for the host's compiler."""
