"""Reads at places that are held within bounds, as choices that a loop can be split at."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from hidet.ir.algebra import simplify_expression
from hidet.ir.expr import (
    And,
    Expr,
    LessEqual,
    Load,
    Math,
    Maximum,
    Minimum,
    Select,
    Var,
    constant,
)
from hidet.ir.stmt import For
from hidet.ir.walk import contains, find, replaced, variables
from hidet.passes.loops.thresholds import conditions, threshold

Conditions = tuple[Expr, ...]


def with_choices(loop: For) -> For:
    """The loop, where each place that it reads is as it is while that lies within its bounds.

    before   y[j] = x[max(j - 3, 0)]
    after    y[j] = x[j - 3] if 0 <= j - 3 else x[max(j - 3, 0)]
    """
    known: dict[Expr, Expr] = {}
    for read in find(loop.body, Load):
        if read.lanes == 1 and not contains(read.index, Load):
            free = [unbounded(each, loop.var) for each in read.index]
            asked = [condition for _, each in free for condition in each]
            if asked:
                plain = replace(read, index=tuple(simplify_expression(each) for each, _ in free))
                known[read] = Select(reduce(And, asked), plain, read)
    return replace(loop, body=tuple(replaced(each, known) for each in loop.body)) if known else loop


def unbounded(e: Expr, iteration: Var) -> tuple[Expr, Conditions]:
    """An integer without the bounds that it keeps from some iteration on, or until one, and what
    has to hold for it to be so."""
    if iteration not in variables(e):
        return e, ()
    known: dict[Expr, Expr] = {}
    asked: Conditions = ()
    for child in e.children():
        if isinstance(child, Expr):
            known[child], own = unbounded(child, iteration)
            asked += own
    made = replaced(e, known)
    for value, needed in bounds(made):
        if all(threshold(each, iteration) is not None for each in needed):
            return value, (*asked, *needed)
    return made, asked


def bounds(e: Expr) -> list[tuple[Expr, Conditions]]:
    """What an expression may be the same as, with the conditions for that."""
    match e:
        case Maximum(a, b):
            return [(a, (LessEqual(b, a),)), (b, (LessEqual(a, b),))]
        case Minimum(a, b):
            return [(a, (LessEqual(a, b),)), (b, (LessEqual(b, a),))]
        case Math("abs", (a,)) if not a.dtype.is_float:
            return [(a, (LessEqual(constant(0, a.dtype), a),))]
        case Select(condition, then, _):
            return [(then, tuple(conditions(condition)))]
    return []
