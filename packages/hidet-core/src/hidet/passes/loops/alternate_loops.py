"""Vector loops whose iterations alternate between several things do one of each in an iteration."""

from __future__ import annotations

from dataclasses import replace

from hidet.ir.expr import Binary, Const, Expr, FloorDiv, FloorMod, Load, Select, constant
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import For, Stmt
from hidet.ir.walk import find
from hidet.passes.base import kernel_pass
from hidet.passes.loops.fresh import copied
from hidet.passes.loops.vector_loops import with_vector_loops

MOST = 4
"""The most things that alternate: each is written out."""
ITERATIONS = 8
"""The fewest iterations that have to be left: fewer are no vectors."""


@kernel_pass()
def alternate_loops(kernel: Kernel) -> Kernel:
    """Write out what alternates from iteration to iteration of a vector loop.

    before   for j in vectorize(64):  y[j] = f(j // 2) if j % 2 < 1 else g(j // 2)
    after    for j in vectorize(32):  y[2 * j] = f(2 * j // 2)  if 2 * j % 2 < 1  else ...
                                      y[2 * j + 1] = ...

    The conditions are decided when they are simplified, and what a place is divided by goes. On a
    CPU only: compilers make vectors of the loop before by computing f and g for each element, of
    operands that lie apart.
    """
    return with_vector_loops(kernel, alternated)


def alternated(loop: For) -> For:
    """A loop in the form above; the loop itself if nothing alternates in it."""
    extent, count = loop.extent, period(loop)
    if count is None or not isinstance(extent, Const):
        return loop
    iterations, rest = divmod(extent.value, count)
    if rest or iterations < ITERATIONS:
        return loop
    of = loop.var.dtype
    body: list[Stmt] = []
    for place in range(count):
        iteration = loop.var * constant(count, of) + constant(place, of)
        body += copied(loop.body, {loop.var: iteration})
    return replace(loop, extent=constant(iterations, of), body=tuple(body))


def period(loop: For) -> int | None:
    """How many things alternate: the one number by which choices and the places of what is read
    divide the iteration of a loop."""
    asking: list[Expr] = [each.condition for each in find(loop.body, Select)]
    asking += [index for each in find(loop.body, Load) for index in each.index]
    found = {int(each.b.value) for each in find(asking, Binary)
             if isinstance(each, FloorDiv | FloorMod)
             and each.a is loop.var and isinstance(each.b, Const)}  # fmt: skip
    return found.pop() if len(found) == 1 and 1 < min(found) <= MOST else None
