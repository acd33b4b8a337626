"""Elements of tensors that are made from nothing, as expressions of their index and of sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce

from hidet.compute import At, Computed, Definition, Grid, Scan
from hidet.compute.classify import has_reduction
from hidet.compute.inline import inline
from hidet.graph.tensor import Tensor
from hidet.ir.algebra import simplify_expression
from hidet.ir.bounds import Bounds
from hidet.ir.expr import Const, Expr, Select, wrap
from hidet.ir.order import producers_first
from hidet.ir.walk import contains, postorder

MOST_NODES = 256
"""Of one element's expression: longer ones take longer to simplify than they save."""


def elements(tensor: Tensor) -> Computed | None:
    """The tensor as one definition, which reads no other; None if it needs an input, a constant,
    whose elements may change, or a reduction.

    Sizes may be those that only calls tell: what holds of an expression then holds in all calls.
    """
    known: dict[Tensor, Computed | None] = {}
    for each in producers_first([tensor], operands):
        known[each] = defined(each, known)
    return known[tensor]


def operands(tensor: Tensor) -> list[Tensor]:
    """What the operator reads that makes a tensor."""
    return [] if tensor.trace is None else list(tensor.trace[0].inputs)


def defined(tensor: Tensor, known: Mapping[Tensor, Computed | None]) -> Computed | None:
    """A tensor's elements by those of its operands; None if some are not known."""
    if tensor.trace is None or tensor.trace[0].op.kind != "kernels":
        return None
    node, place = tensor.trace
    given = [known[each] for each in node.inputs]
    if any(each is None for each in given):
        return None
    made = node.op.define(*node.op.arrange(given))
    grid = made[place] if isinstance(made, tuple) else made
    return simple(inline(Definition((), (grid,))).outputs[0])


def simple(found: Grid) -> Computed | None:
    """A definition in its simplest form, if it reads and reduces nothing."""
    if isinstance(found, Scan):
        return progression(found)
    if not isinstance(found, Computed) or contains(found.value, At) or has_reduction(found.value):
        return None
    if sum(1 for _ in postorder([found.value])) > MOST_NODES:
        return None
    bounds = within(found)
    return replace(found, value=merged(simplify_expression(found.value, bounds), bounds))


def progression(found: Scan) -> Computed | None:
    """Running sums of one whole number again and again."""
    source = simple(found.source)
    if source is None or found.how != "sum" or not isinstance(source.value, Const):
        return None
    if not source.dtype.is_integer:
        return None
    return simple(replace(source, value=source.value * (source.vars[found.axis] + 1)))


def within(found: Computed) -> Bounds:
    """What is known of an index of a definition."""
    pairs = zip(found.vars, found.shape, strict=True)
    return reduce(lambda bounds, pair: bounds.count(pair[0], wrap(pair[1])), pairs, Bounds())


def merged(value: Expr, bounds: Bounds) -> Expr:
    """A value without choices of which one branch gives what the other one does: that of a
    progression, cut in two and put together again."""
    if not isinstance(value, Select):
        return value
    there = bounds.assume(value.condition)
    same = simplify_expression(value.otherwise, there) is simplify_expression(value.then, there)
    return value.otherwise if same else value
