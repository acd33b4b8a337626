"""Compilers, source to binary: NVRTC in process, and the machine's C++ compiler."""

from hidet.toolchain.host import compile_cpp, cpp_version, flags_for, probe_isa
from hidet.toolchain.nvrtc import CompiledCuda, ResourceUsage, compile_cuda, cuda_version

__all__ = [
    "CompiledCuda",
    "ResourceUsage",
    "compile_cpp",
    "compile_cuda",
    "cpp_version",
    "cuda_version",
    "flags_for",
    "probe_isa",
]
