"""C++17 for the host's compiler (GCC or Clang): `emit(kernels)`."""

from hidet.codegen.cpu.emit import emit

__all__ = ["emit"]
