"""Kernels as functions for the host's compiler."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hidet.codegen.common.heads import parameters
from hidet.codegen.common.language import Language
from hidet.codegen.common.names import Names
from hidet.codegen.common.signs import Signs
from hidet.codegen.cpu.expressions import CpuExpressions
from hidet.codegen.cpu.prelude import PARTS, prelude
from hidet.codegen.cpu.statements import CpuStatements
from hidet.ir.expr import Var
from hidet.ir.kernel import Kernel, KernelKind

FLAGS = (
    "-ffp-contract=fast",
    "-fno-trapping-math",
    "-fno-math-errno",
    "-fno-predictive-commoning",
)
"""What the text wants besides -O3, -fopenmp-simd and the machine's instruction sets: products and
sums fuse, and no result depends on floating-point traps or errno. Without the latter two, loops
with choices or roots are not vectorised. Nothing is kept in registers from one iteration of a loop
to a later one: tiles of sums fill them, so that GCC would store and load sums in each iteration."""

RESERVED = (
    *PARTS,
    "INLINE",
    "NOINLINE",
    "Iterations",
    "iterations",
    "advance",
    "hidet_parallel",
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


def function(
    kernel: Kernel,
    kernels: Sequence[Kernel],
    used: set[str],
    signs: Signs,
    overwritten: Collection[Var],
) -> str:
    """One kernel; adds the prelude's names it relies on to `used`."""
    expressions = CpuExpressions(Names((*RESERVED, *(k.name for k in kernels))), signs)
    heads = parameters(kernel, expressions, overwritten)
    writer = CpuStatements(kernel, expressions, heads)
    writer.statements(kernel.body)
    used |= expressions.used
    head = f'extern "C" void {kernel.name}({", ".join(heads.values())}) {{'
    return "\n".join([head, *writer.lines, "}", ""])


LANGUAGE = Language(KernelKind.CPU, prelude, function)
"""C++17 without headers, with GCC's vector extensions and OpenMP's hint for vector loops."""
