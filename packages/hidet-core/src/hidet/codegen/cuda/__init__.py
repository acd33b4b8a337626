"""CUDA C++17 for NVRTC: `emit(kernels)`, or one kernel `written` and put into a `unit`."""

from hidet.codegen.cuda.emit import LANGUAGE

emit, unit, written = LANGUAGE.emit, LANGUAGE.unit, LANGUAGE.written

__all__ = ["emit", "unit", "written"]
