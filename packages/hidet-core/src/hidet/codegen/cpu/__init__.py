"""C++17 for the host's compiler (GCC or Clang), to be compiled with `FLAGS`: `emit(kernels)`, or
one kernel `written` and put into a `unit`."""

from hidet.codegen.cpu.emit import FLAGS, LANGUAGE

emit, unit, written = LANGUAGE.emit, LANGUAGE.unit, LANGUAGE.written

__all__ = ["FLAGS", "emit", "unit", "written"]
