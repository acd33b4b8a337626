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
from hidet.ir.expr import Expr, Load, Var
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Declare, For, LoopKind
from hidet.ir.walk import contains, find, variables

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
    lines = [head, *writer.lines, "}"]
    return "\n".join([*(gathering(lines) if has_gathers(kernel) else lines), ""])


def has_gathers(kernel: Kernel) -> bool:
    """Whether elements of a vector are read at places that were themselves read."""
    loops = (each for each in find(kernel.body, For) if each.kind is LoopKind.VECTOR)
    return any(map(reads_at_what_is_read, loops))


def reads_at_what_is_read(loop: For) -> bool:
    """Whether a place in a loop is made of what the loop reads."""
    loaded: set[Expr] = set()
    for each in find(loop.body, Declare):
        if each.init is not None and reads_memory(each.init, loaded):
            loaded.add(each.var)
    return any(
        reads_memory(place, loaded) for read in find(loop.body, Load) for place in read.index
    )


def reads_memory(e: Expr, loaded: Collection[Expr]) -> bool:
    """Whether a value was read, or is made of variables that were."""
    return contains(e, Load) or any(each in loaded for each in variables(e))


def gathering(lines: Sequence[str]) -> list[str]:
    """A function in which GCC gathers elements by instructions; by its usual tuning it takes places
    apart and reads them one by one, which is slower on every CPU that was measured."""
    tuned = ["#ifdef __AVX2__", "#pragma GCC push_options", '#pragma GCC target("tune=haswell")']
    return [*tuned, "#endif", *lines, "#ifdef __AVX2__", "#pragma GCC pop_options", "#endif"]


LANGUAGE = Language(KernelKind.CPU, prelude, function)
"""C++17 without headers, with GCC's vector extensions and OpenMP's hint for vector loops."""
