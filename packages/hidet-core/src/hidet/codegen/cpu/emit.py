"""Kernels as one translation unit for the host's compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet.codegen.common.function import Function
from hidet.codegen.common.heads import check_heads, parameters
from hidet.codegen.common.names import Names
from hidet.codegen.common.signs import Signs
from hidet.codegen.cpu.expressions import CpuExpressions
from hidet.codegen.cpu.prelude import PARTS, prelude
from hidet.codegen.cpu.statements import CpuStatements
from hidet.errors import at
from hidet.ir.kernel import Kernel, KernelKind

FLAGS = ("-ffp-contract=fast", "-fno-trapping-math", "-fno-math-errno")
"""What the text wants besides -O3, -fopenmp and the machine's instruction sets: products and sums
fuse, and no result depends on floating-point traps or errno. Without the latter two, loops with
choices or roots are not vectorised."""

RESERVED = (
    *PARTS,
    "INLINE",
    "each",
    "real_fmod",
    "real_trunc",
    "real_floor",
    "real_copysign",
    "all",
    "absolute",
    "with_sign",
    "Int",
    "SameBits",
    "dprintf",
)


def emit(kernels: Sequence[Kernel], signs: Callable[[], Signs] = Signs) -> str:
    """C++17 without headers for lowered kernels, with GCC's vector extensions and OpenMP.

    Functions have C linkage and the kernels' names. `signs` makes what proves indices not negative.
    """
    check_heads(kernels, KernelKind.CPU)
    used: set[str] = set()
    functions = []
    for kernel in kernels:
        with at(kernel.place):
            functions.append(function(kernel, kernels, used, signs()))
    return "\n".join([prelude(used), *functions])


def written(kernel: Kernel) -> Function:
    """One lowered kernel as a function that `unit` can put beside others."""
    check_heads([kernel], KernelKind.CPU)
    used: set[str] = set()
    with at(kernel.place):
        text = function(kernel, [kernel], used, Signs())
    return Function(kernel.name, text, tuple(sorted(used)))


def unit(functions: Sequence[Function]) -> str:
    """Functions as one translation unit."""
    used = {name for each in functions for name in each.used}
    return "\n".join([prelude(used), *(each.text for each in functions)])


def function(kernel: Kernel, kernels: Sequence[Kernel], used: set[str], signs: Signs) -> str:
    """One kernel; adds the prelude's names it relies on to `used`."""
    expressions = CpuExpressions(Names((*RESERVED, *(k.name for k in kernels))), signs)
    params = parameters(kernel, expressions)
    writer = CpuStatements(kernel, expressions)
    for s in kernel.body:
        writer.stmt(s)
    used |= expressions.used
    return "\n".join([f'extern "C" void {kernel.name}({params}) {{', *writer.lines, "}", ""])
