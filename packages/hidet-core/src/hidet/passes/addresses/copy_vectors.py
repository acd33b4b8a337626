"""Register arrays that a CPU kernel reads as vectors are filled by vectors: they stay registers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hidet.ir.expr import Cast, Const, Expr, Load, Var
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Assign, Declare, For, Store
from hidet.ir.walk import find, substitute
from hidet.passes.base import kernel_pass
from hidet.passes.loops.vector_loops import is_next, with_vector_loops
from hidet.types import DType, Scope, TensorType, bf16, f16, f32, i32

MOST = 16
"""Vectors that a loop becomes; a longer one stays a loop."""


@kernel_pass()
def copy_vectors(kernel: Kernel) -> Kernel:
    """Copy elements that lie side by side by vectors, into arrays that are read by vectors.

    before   for j in vectorize(32):  part[j] = b[r * n + j];    ... load(part, 0, lanes=16) ...
    after    part[0:16] = b[r * n:][:16];  part[16:32] = b[r * n + 16:][:16]

    Elements of 16 bits may become float32 on the way.

    C++ compilers keep an array in registers if all its accesses are alike; else each element goes
    through memory on its way from there.
    """
    lanes = vector_reads(kernel) if kernel.kind is KernelKind.CPU else {}
    return with_vector_loops(kernel, lambda loop: copied(loop, lanes)) if lanes else kernel


def vector_reads(kernel: Kernel) -> dict[Expr, int]:
    """The register arrays that are only read as vectors, all of as many lanes, and how many."""
    found: dict[Expr, set[int]] = {}
    for each in find(kernel.body, Load):
        found.setdefault(each.tensor, set()).add(each.lanes)
    return {
        tensor: lanes.pop()
        for tensor, lanes in found.items()
        if len(lanes) == 1
        and 1 not in lanes
        and isinstance(tensor.type, TensorType)
        and tensor.type.scope is Scope.REGISTER
    }


def copied(loop: For, lanes: Mapping[Expr, int]) -> Any:
    """The loop as copies of vectors, if it copies neighbours."""
    *ahead, last = loop.body
    if not (isinstance(last, Store) and last.tensor in lanes):
        return loop
    read = last.value.value if isinstance(last.value, Cast) else last.value
    if not isinstance(read, Load) or not may_convert(read.dtype, last.value.dtype):
        return loop
    if not all(isinstance(e, Declare) and e.init is not None and e.var.of is i32 for e in ahead):
        return loop
    if any(True for _ in find(loop.body, Assign)) or not isinstance(loop.extent, Const):
        return loop
    width = lanes[last.tensor]
    count, rest = divmod(int(loop.extent.value), width)
    if rest or not 0 < count <= MOST or read.lanes != 1:
        return loop
    known: dict[Var, Expr] = {}
    for each in find(ahead, Declare):
        if each.init is not None:
            known[each.var] = substitute(each.init, known)
    target, source = (substitute(each.index[-1], known) for each in (last, read))
    if not (is_next(target, loop.var) and is_next(source, loop.var)):
        return loop

    def copy(first: int) -> Store:
        here = {loop.var: Const(first, i32)}
        value: Expr = Load(read.tensor, (substitute(source, here),), width)
        if value.dtype is not last.value.dtype:
            value = Cast(value, last.value.dtype)
        return Store(last.tensor, (substitute(target, here),), value, last.place)

    return tuple(copy(number * width) for number in range(count))


def may_convert(source: DType, to: DType) -> bool:
    """Whether there are vectors of what elements become on the way: of 16 bits they become f32."""
    return source is to or (source in (f16, bf16) and to is f32)
