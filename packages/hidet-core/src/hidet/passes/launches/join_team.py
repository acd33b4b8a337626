"""Loops with too little to do for a team of threads are run by the thread that is there."""

from __future__ import annotations

from math import inf

from hidet.ir.expr import Const, Expr
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.node import Node
from hidet.ir.stmt import Body, For, LoopKind, Stmt, While
from hidet.ir.walk import postorder
from hidet.passes.base import kernel_pass, with_body

ENOUGH = 1 << 15
"""Operations that take a thread about as long as a team of threads takes to begin and to end."""


@kernel_pass()
def join_team(kernel: Kernel) -> Kernel:
    """Let loops over the threads of the team be ordinary ones where that is faster.

    before   for i in parallel(16): y[i] = x[i]
    after    for i in range(16): y[i] = x[i]

    A loop of which nothing says how often it iterates is run by the team.
    """
    if kernel.kind is not KernelKind.CPU:
        return kernel
    return with_body(kernel, tuple(map(alone, kernel.body)))


def alone(s: Stmt) -> Stmt:
    """`s` with loops over the team as ordinary ones if there is little to do in them.

    What is in a loop that the team runs stays as it is: its iterations may be those of one loop.
    """
    if isinstance(s, For) and s.kind is LoopKind.PARALLEL:
        if operations(s) >= ENOUGH:
            return s
        s = For(s.var, s.extent, s.body, LoopKind.SERIAL, s.place)
    return s.map_children(lambda node: alone(node) if isinstance(node, Stmt) else node)


def operations(s: Stmt) -> float:
    """How many nodes of expressions are computed; infinitely many where a loop's iterations are
    unknown."""
    match s:
        case For(extent=extent, body=body):
            iterations = float(extent.value) if isinstance(extent, Const) else inf
            return iterations * (1 + in_all(body))
        case While():
            return inf
        case _:
            return sum(count(each) for each in s.children())


def in_all(body: Body) -> float:
    """The operations of a list of statements."""
    return sum(map(operations, body))


def count(node: Node) -> float:
    """The operations of a part of a statement."""
    if isinstance(node, Stmt):
        return operations(node)
    return float(len(list(postorder(node)))) if isinstance(node, Expr) else 0.0
