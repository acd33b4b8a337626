"""Long vector loops of CPU kernels store whole lines of the cache."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hidet.ir.expr import Const, Expr, Math, Var, constant
from hidet.ir.kernel import Kernel
from hidet.ir.linear import Terms
from hidet.ir.stmt import Body, Declare, For, LoopKind, Store
from hidet.ir.walk import contains, substitute
from hidet.passes.base import kernel_pass
from hidet.passes.loops.vector_loops import is_next, remaining, with_vector_loops
from hidet.types import PointerType, i32

LINE = 64
"""Bytes of a line of the cache. Tensors begin at one, unless they are a part of another one: then
results are the same, and stores as slow as before."""
LONG = 512
"""Iterations from which it pays. A vector that is stored to two lines costs half a cycle to two
cycles more, by which cache has them; a loop for the first elements costs some twenty."""


@kernel_pass()
def align_stores(kernel: Kernel) -> Kernel:
    """Give the elements of a row that are ahead of the first whole line a loop of their own.

    before   for j in vectorize(3001):  y[row * 3001 + j] = x[j]
    after    head = (16 - row * 3001 % 16) % 16
             for j in range(head):  y[row * 3001 + j] = x[j]
             for j in vectorize(3001 - head):  y[row * 3001 + j + head] = x[j + head]

    On a CPU only. Loops that call functions stay: these take longer than the stores. So
    do those whose indices have 64 bits.
    """
    return with_vector_loops(kernel, aligned)


def aligned(loop: For) -> Any:
    """The loop in two, if it is long and its only store may begin within a line."""
    known = loop.extent.value if isinstance(loop.extent, Const) else 0
    store = only_store(loop.body)
    if known < LONG or store is None or contains(loop.body, Math):
        return loop
    at = place_of(store, loop.body)
    first = substitute(at, {loop.var: constant(0, i32)})
    lanes = LINE // store.value.dtype.nbytes
    if not is_next(at, loop.var) or all(n % lanes == 0 for n in Terms().form(first).values()):
        return loop
    head = Var("head", i32)
    begin = replace(remaining(loop, constant(0, i32), head), kind=LoopKind.SERIAL)
    return (
        Declare(head, (lanes - first % lanes) % lanes),
        begin,
        remaining(loop, head, loop.extent - head),
    )


def only_store(body: Body) -> Store | None:
    """The store of an iteration to memory; None if there are other statements than it and the names
    of values."""
    *names, last = body
    plain = all(isinstance(each, Declare) and each.init is not None for each in names)
    if not (plain and isinstance(last, Store) and isinstance(last.tensor.type, PointerType)):
        return None
    return last


def place_of(store: Store, body: Body) -> Expr:
    """Where an iteration stores, without the names of its values."""
    values: dict[Var, Expr] = {}
    for each in body:
        if isinstance(each, Declare) and each.init is not None:
            values[each.var] = substitute(each.init, values)
    return substitute(store.index[-1], values)
