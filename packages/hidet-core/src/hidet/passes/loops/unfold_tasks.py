"""Loops over task mappings become plain loops."""

from __future__ import annotations

import math
from typing import Any

from hidet.ir.expr import Const, Expr, Var, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Body, Declare, For, ForTasks, If, LoopKind, Stmt
from hidet.ir.walk import rebuild_statements, substitute_body
from hidet.mapping import TaskMapping
from hidet.passes.base import kernel_pass, with_body
from hidet.passes.loops.statement_order import goes_by_statement
from hidet.types import i32

UNROLLED = 64  # iterations of a task loop up to which it is unrolled: its indices become constants


@kernel_pass(removes=(ForTasks,))
def unfold_tasks(kernel: Kernel) -> Kernel:
    """Turn loops over a task mapping into plain loops.

    before   for i, j in spatial(2, 4) * repeat(2, 1) on t:  a[i, j] = 0
    after    for r in 2:  i = t // 4 * 2 + r;  j = t % 4;  a[i, j] = 0

    Neighbours along the last axis become a vector loop on GPUs, where the order of iterations does
    not matter: they are read and written at once if they lie side by side.
    """
    vectors = kernel.kind is KernelKind.CUDA
    return with_body(kernel, rebuild_statements(kernel.body, lambda node: unfold(node, vectors)))


def unfold(node: Stmt, vectors: bool) -> Any:
    """Plain loops for a task loop; any other node stays."""
    if not isinstance(node, ForTasks):
        return node
    mapping = node.mapping
    extents, index = mapping.loops(node.worker)
    counters = tuple(Var(f"r{k}" if len(extents) > 1 else "r", i32) for k in range(len(extents)))
    task: tuple[Expr, ...] = tuple(map(wrap, index(counters)))
    body = guarded(mapping.inside(task), named(node, task), node)
    kind = LoopKind.UNROLL if math.prod(extents) <= UNROLLED else LoopKind.SERIAL
    side_by_side = vectors and kind is LoopKind.UNROLL and ends_in_neighbours(mapping)
    inner = LoopKind.VECTOR if side_by_side and goes_by_statement(body) else kind
    for counter, extent in reversed(list(zip(counters, extents, strict=True))):
        body = (For(counter, Const(int(extent), i32), body, inner, node.place),)
        inner = kind
    return guarded(mapping.active(node.worker), body, node)


def named(node: ForTasks, task: tuple[Expr, ...]) -> Body:
    """The body of a task loop, in which each coordinate that is computed has a name: written out at
    each use, conditions on it become branches."""
    fresh = {v: Var(v.name, i32) for v, at in zip(node.vars, task, strict=True) if is_computed(at)}
    declared = (
        Declare(fresh[v], at, node.place)
        for v, at in zip(node.vars, task, strict=True)
        if v in fresh
    )
    names = {v: fresh.get(v, at) for v, at in zip(node.vars, task, strict=True)}
    return (*declared, *substitute_body(node.body, names))


def is_computed(at: Expr) -> bool:
    """Whether a coordinate is more than a variable or a number."""
    return not isinstance(at, Var | Const)


def ends_in_neighbours(mapping: TaskMapping) -> bool:
    """Whether the innermost loop of a mapping goes from an element to the next one of its row."""
    extents, index = mapping.loops(0)
    if not extents:
        return False
    still = (0,) * (len(extents) - 1)
    first, second = index((*still, 0)), index((*still, 1))
    return tuple(b - a for a, b in zip(first, second, strict=True)) == (0,) * (mapping.rank - 1) + (
        1,
    )


def guarded(condition: Any, body: Body, node: ForTasks) -> Body:
    """`body` where `condition` holds; None always holds."""
    if condition is None or condition is True:
        return body
    return (If(wrap(condition), body, (), node.place),)
