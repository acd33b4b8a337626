"""Loops marked for it become their iterations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hidet.ir.expr import Const, constant
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Body, For, LoopKind, Stmt
from hidet.ir.walk import rebuild_statements
from hidet.passes.arithmetic.simplify import jumps
from hidet.passes.base import kernel_pass, with_body
from hidet.passes.loops.fresh import copied


@kernel_pass()
def unroll(kernel: Kernel) -> Kernel:
    """Write out the iterations of loops marked UNROLL, innermost first.

    before   for i in 2:  a[i] = 0   # unroll
    after    a[0] = 0;  a[1] = 0

    A loop without a constant number of iterations, or with a break or continue, becomes serial; so
    do vector loops that are left on cuda.
    """
    kinds = {LoopKind.UNROLL} | ({LoopKind.VECTOR} if kernel.kind is KernelKind.CUDA else set())

    def change(node: Stmt) -> Any:
        return iterations(node) if isinstance(node, For) and node.kind in kinds else node

    return with_body(kernel, rebuild_statements(kernel.body, change))


def iterations(loop: For) -> Stmt | Body:
    """The iterations of a loop one after the other."""
    if not isinstance(loop.extent, Const) or jumps(loop.body):
        return replace(loop, kind=LoopKind.SERIAL)
    out: list[Stmt] = []
    for iteration in range(int(loop.extent.value)):
        out.extend(copied(loop.body, {loop.var: constant(iteration, loop.var.dtype)}))
    return tuple(out)
