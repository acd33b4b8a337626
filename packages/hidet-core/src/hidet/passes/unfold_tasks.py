"""Loops over task mappings become plain loops."""

from __future__ import annotations

import math
from typing import Any

from hidet.ir.expr import Const, Expr, Var, wrap
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Body, For, ForTasks, If, LoopKind, Stmt
from hidet.ir.walk import rebuild_statements, substitute_body
from hidet.passes.base import kernel_pass, with_body
from hidet.types import i32

UNROLLED = 64  # turns of a task loop up to which it is unrolled: its indices become constants


@kernel_pass(removes=(ForTasks,))
def unfold_tasks(kernel: Kernel) -> Kernel:
    """Turn loops over a task mapping into plain loops.

    before   for i, j in spatial(2, 4) * repeat(2, 1) on t:  a[i, j] = 0
    after    for r in 2:  a[t // 4 * 2 + r, t % 4] = 0
    """
    return with_body(kernel, rebuild_statements(kernel.body, unfold))


def unfold(node: Stmt) -> Any:
    """Plain loops for a task loop; any other node stays."""
    if not isinstance(node, ForTasks):
        return node
    mapping = node.mapping
    extents, index = mapping.loops(node.worker)
    counters = tuple(Var(f"r{k}" if len(extents) > 1 else "r", i32) for k in range(len(extents)))
    task: tuple[Expr, ...] = tuple(map(wrap, index(counters)))
    body: Body = substitute_body(node.body, dict(zip(node.vars, task, strict=True)))
    body = guarded(mapping.inside(task), body, node)
    kind = LoopKind.UNROLL if math.prod(extents) <= UNROLLED else LoopKind.SERIAL
    for counter, extent in reversed(list(zip(counters, extents, strict=True))):
        body = (For(counter, Const(int(extent), i32), body, kind, node.place),)
    return guarded(mapping.active(node.worker), body, node)


def guarded(condition: Any, body: Body, node: ForTasks) -> Body:
    """`body` where `condition` holds; None always holds."""
    if condition is None or condition is True:
        return body
    return (If(wrap(condition), body, (), node.place),)
