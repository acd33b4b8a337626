"""Epilogues that read several neighbours of the result, where one thread holds all of them.

A gated layer multiplies two products, an LSTM cell combines four; with their columns interleaved,
the gates of a unit are neighbours in a row, and one kernel computes the product and the cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hidet.ir.bounds import range_of
from hidet.ir.expr import Const, Expr, Var, constant, convert
from hidet.ir.kernel import Module
from hidet.ir.node import Node
from hidet.ir.stmt import Assign, Body, Declare, For, Put
from hidet.ir.walk import find, introduced, rebuild_body, substitute, substitute_body
from hidet.types import i32

Write = Callable[[Put, Sequence[Expr]], Body]
"""Gives the statements for the write of the first of several neighbours, from all their values."""


def has_neighbours(module: Module, result: Var, count: int) -> bool:
    """Whether every write of `result` is in a loop over neighbours that takes whole groups of
    `count`, each from a multiple of `count` on."""
    for kernel in module.kernels:
        grouped = {
            write
            for loop in find(kernel.body, For)
            if takes_groups(loop, result, count, values_in(kernel.body))
            for write in writes(loop.body, result)
        }
        if any(write not in grouped for write in writes(kernel.body, result)):
            return False
    return True


def in_groups(
    loop: For, result: Var, count: int, seen: Callable[[Expr], Expr], write: Write
) -> For:
    """A loop over neighbours as one over groups of `count`: the first of each is written, from all.

    What follows sees of a written value what `seen` gives of it.
    """
    (put,) = writes(loop.body, result)
    group = Var(loop.var.name, i32)
    parts: list[Body] = []
    values: list[Var] = []
    first = put
    for number in range(count):
        fresh: dict[Var, Expr] = {each: Var(each.name, each.of) for each in introduced(loop.body)}
        fresh[loop.var] = group * count + number
        value = Var(f"{result.name}{number}", seen(put.value).dtype)
        copied = substitute_body(loop.body, fresh)
        if number == 0:
            (first,) = writes(copied, result)
            first = replace(first, index=tuple(expanded(e, values_in(copied)) for e in first.index))
        parts.append((Declare(value, constant(0, value.dtype)), *kept(copied, result, value, seen)))
        values.append(value)
    body = (*(each for part in parts for each in part), *write(first, values))
    return For(group, loop.extent // count, body, loop.kind, loop.place)


def kept(body: Body, result: Var, value: Var, seen: Callable[[Expr], Expr]) -> Body:
    """The statements with what is seen of the written value kept in a variable."""

    def change(node: Node) -> Node:
        own = isinstance(node, Put) and node.tensor is result
        return Assign(value, convert(seen(node.value), value.dtype)) if own else node  # type: ignore[attr-defined]

    return rebuild_body(body, change)


def writes(body: Sequence[Node], result: Var) -> list[Put]:
    """The writes of a tensor."""
    return [each for each in find(body, Put) if each.tensor is result]


def values_in(body: Body) -> dict[Var, Expr]:
    """The variables of statements that have one value, and that value."""
    changed = {each.var for each in find(body, Assign)}
    return {
        each.var: each.init
        for each in find(body, Declare)
        if each.init is not None and each.var not in changed and each.var.of is i32
    }


def takes_groups(loop: For, result: Var, count: int, known: dict[Var, Expr]) -> bool:
    """Whether a loop writes neighbours, a multiple of `count`, from a multiple of `count` on."""
    own = writes(loop.body, result)
    if len(own) != 1 or not isinstance(loop.extent, Const) or loop.extent.value % count:
        return False
    if any(writes(inner.body, result) for inner in find(loop.body, For)):
        return False
    last = expanded(own[0].index[-1], known)
    start = range_of(substitute(last, {loop.var: Const(0, i32)}))
    step = range_of(
        substitute(last, {loop.var: Const(1, i32)}) - substitute(last, {loop.var: Const(0, i32)})
    )
    begins = start.divisor % count == 0 and start.remainder % count == 0
    return begins and step.single == 1


def expanded(e: Expr, known: dict[Var, Expr]) -> Expr:
    """An expression without variables of one value."""
    while True:
        after = substitute(e, known)
        if after is e:
            return e
        e = after
