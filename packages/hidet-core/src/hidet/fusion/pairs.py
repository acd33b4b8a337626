"""Epilogues that read two neighbours of the result, where one thread holds both.

A gated layer multiplies two products; with their columns taking turns, one kernel computes both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet.ir.bounds import range_of
from hidet.ir.expr import Const, Expr, Var, constant, convert
from hidet.ir.kernel import Kernel, Module
from hidet.ir.node import Node
from hidet.ir.stmt import Assign, Body, Declare, For, Put
from hidet.ir.walk import find, introduced, rebuild_body, substitute, substitute_body
from hidet.types import i32

Write = Callable[[Put, Expr, Expr], Body]
"""Gives the statements for the write of an even element, from its value and its neighbour's."""


def has_pairs(module: Module, result: Var) -> bool:
    """Whether every write of `result` is in a loop over neighbours that begins at an even one."""
    for kernel in module.kernels:
        paired = {
            write
            for loop in find(kernel.body, For)
            if begins_even(loop, result, lets(kernel))
            for write in writes(loop.body, result)
        }
        if any(write not in paired for write in writes(kernel.body, result)):
            return False
    return True


def in_pairs(loop: For, result: Var, seen: Callable[[Expr], Expr], write: Write) -> For:
    """A loop over neighbours as one over pairs of them: the even one is written, from both.

    What follows sees of a written value what `seen` gives of it.
    """
    (put,) = writes(loop.body, result)
    half = Var(loop.var.name, i32)
    parts: list[Body] = []
    values: list[Var] = []
    first = put
    for number in range(2):
        fresh: dict[Var, Expr] = {each: Var(each.name, each.of) for each in introduced(loop.body)}
        fresh[loop.var] = half * 2 + number
        value = Var("even" if number == 0 else "odd", seen(put.value).dtype)
        copied = substitute_body(loop.body, fresh)
        if number == 0:
            (first,) = writes(copied, result)
        parts.append((Declare(value, constant(0, value.dtype)), *kept(copied, result, value, seen)))
        values.append(value)
    body = (*parts[0], *parts[1], *write(first, values[0], values[1]))
    return For(half, loop.extent // 2, body, loop.kind, loop.place)


def kept(body: Body, result: Var, value: Var, seen: Callable[[Expr], Expr]) -> Body:
    """The statements with what is seen of the written value kept in a variable."""

    def change(node: Node) -> Node:
        own = isinstance(node, Put) and node.tensor is result
        return Assign(value, convert(seen(node.value), value.dtype)) if own else node  # type: ignore[attr-defined]

    return rebuild_body(body, change)


def writes(body: Sequence[Node], result: Var) -> list[Put]:
    """The writes of a tensor."""
    return [each for each in find(body, Put) if each.tensor is result]


def lets(kernel: Kernel) -> dict[Var, Expr]:
    """The variables of a kernel that have one value, and that value."""
    changed = {each.var for each in find(kernel.body, Assign)}
    return {
        each.var: each.init
        for each in find(kernel.body, Declare)
        if each.init is not None and each.var not in changed and each.var.of is i32
    }


def begins_even(loop: For, result: Var, known: dict[Var, Expr]) -> bool:
    """Whether a loop writes neighbours, an even number of them, from an even one on."""
    own = writes(loop.body, result)
    if len(own) != 1 or not isinstance(loop.extent, Const) or loop.extent.value % 2:
        return False
    if any(writes(inner.body, result) for inner in find(loop.body, For)):
        return False
    last = expanded(own[0].index[-1], known)
    start = range_of(substitute(last, {loop.var: Const(0, i32)}))
    step = range_of(
        substitute(last, {loop.var: Const(1, i32)}) - substitute(last, {loop.var: Const(0, i32)})
    )
    even = start.divisor % 2 == 0 and start.remainder % 2 == 0
    return even and step.single == 1


def expanded(e: Expr, known: dict[Var, Expr]) -> Expr:
    """An expression without variables of one value."""
    while True:
        after = substitute(e, known)
        if after is e:
            return e
        e = after
