"""C++17 for the host's compiler (GCC or Clang): `emit(kernels)`, to be compiled with `FLAGS`."""

from hidet.codegen.cpu.emit import FLAGS, emit

__all__ = ["FLAGS", "emit"]
