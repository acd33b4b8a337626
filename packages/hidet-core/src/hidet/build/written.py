"""Lowered kernels as text: C++, or what the simulator reads."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.codegen import cpu, cuda
from hidet.codegen.common.function import Function
from hidet.ir.kernel import Kernel
from hidet.ir.stored import stored
from hidet.target import Target


def written(kernel: Kernel, target: Target) -> Function:
    """A lowered kernel as text."""
    if target.simulated:
        return Function(kernel.name, stored([kernel]), ())
    return cuda.written(kernel) if target.kind == "cuda" else cpu.written(kernel)


def unit_of(functions: Sequence[Function], target: Target) -> str:
    """Functions as one translation unit; a simulated one holds one function."""
    if target.simulated:
        (function,) = functions
        return function.text
    return cuda.unit(functions) if target.kind == "cuda" else cpu.unit(functions)
