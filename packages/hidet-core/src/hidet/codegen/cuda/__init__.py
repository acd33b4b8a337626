"""CUDA C++17 for NVRTC: `emit(kernels)`."""

from hidet.codegen.cuda.emit import emit

__all__ = ["emit"]
