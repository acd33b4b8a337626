"""Lowered kernels as text: C++, or what the simulator reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hidet.codegen import cpu, cuda
from hidet.codegen.common.function import Function
from hidet.ir.expr import Var
from hidet.ir.kernel import Kernel
from hidet.ir.stored import stored
from hidet.target import Target


def written(kernel: Kernel, target: Target, overwritten: Collection[Var] = ()) -> Function:
    """A lowered kernel as text; results may lie in the place of the operands `overwritten`."""
    if target.simulated:
        return Function(kernel.name, stored([kernel]), ())
    write = cuda.written if target.kind == "cuda" else cpu.written
    return write(kernel, overwritten)


def unit_of(functions: Sequence[Function], target: Target) -> str:
    """Functions as one translation unit; a simulated one holds one function."""
    if target.simulated:
        (function,) = functions
        return function.text
    return cuda.unit(functions) if target.kind == "cuda" else cpu.unit(functions)
