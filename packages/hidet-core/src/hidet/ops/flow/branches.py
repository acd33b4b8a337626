"""The choice between two Python functions: if_.

Where the results of one branch are larger, which branch runs says how large they are, so the host
reads that before it runs. Sizes that a branch computes, as those of what it selects, are computed
ahead of it, by control flow of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hidet.compute.sizes import same
from hidet.graph import Tensor, apply_all
from hidet.ir.expr import Var
from hidet.ops.elementwise.select import where
from hidet.ops.flow.control import If
from hidet.ops.flow.trace import Tensors, Trace, flag, listed, symbols
from hidet.ops.tensors.create import size_value
from hidet.ops.tensors.size_from import size_from
from hidet.types import DType, Size

Pair = tuple[Size, Size]
"""A size in the first branch, and in the second one."""


def if_(
    condition: Tensor,
    then: Callable[..., Any],
    otherwise: Callable[..., Any],
    *operands: Tensor,
) -> Any:
    """The result of `then(*operands)` if the one element of `condition` is true, else the result of
    `otherwise(*operands)`; only the chosen function runs. Both return tensors of equal element
    types and ranks. Where their sizes differ, or depend on data, each call reads the sizes before
    the branch runs.

    Functions that return one tensor give a tensor; functions that return a list give a tuple.
    """
    device, condition = condition.device, flag(condition)
    traces = [Trace([each.type for each in operands], device, f) for f in (then, otherwise)]
    given = [listed(each.given) for each in traces]

    def compute(pairs: Sequence[Pair]) -> Tensors:
        sizes = []
        for trace, each in zip(traces, zip(*pairs, strict=True), strict=True):
            with trace.going_on():
                sizes.append([size_value(size, device=device) for size in each])
        return branched(condition, operands, traces, sizes)

    shapes: tuple[tuple[Size, ...], ...] = ()
    if [form(each) for each in given[0]] == [form(each) for each in given[1]]:
        own = [each.own_sizes(to) for each, to in zip(traces, given, strict=True)]
        shapes = shapes_of(condition, given, own, compute)
    results = branched(condition, operands, traces, given, shapes)
    return results if isinstance(traces[0].given, list | tuple) else results[0]


def branched(
    condition: Tensor,
    operands: Tensors,
    traces: Sequence[Trace],
    results: Sequence[Sequence[Tensor]],
    shapes: tuple[tuple[Size, ...], ...] = (),
) -> Tensors:
    """Those results that the branch gives which is taken."""
    pairs = [*zip(traces, results, strict=True)]
    captured = tuple(dict.fromkeys(t for each, to in pairs for t in each.captured(to)))
    first, second = (each.body(to, captured) for each, to in pairs)
    return apply_all(
        If,
        condition,
        (*operands, *captured),
        branches=(first, second),
        shapes=shapes,
        device=condition.device,
    )


def shapes_of(
    condition: Tensor,
    results: Sequence[Sequence[Tensor]],
    own: Sequence[set[Var]],
    compute: Callable[[list[Pair]], Sequence[Tensor]],
) -> tuple[tuple[Size, ...], ...]:
    """The shapes of what one of two branches gives, whose `results` have equal ranks; none if both
    give equal shapes.

    `own` are the sizes that each branch tells itself, of which only `compute` knows numbers: those
    of the branch that is taken, for pairs of sizes.
    """
    inside = set().union(*own)

    def is_common(pair: Pair) -> bool:
        return same(*pair) is True and inside.isdisjoint(symbols(*pair))

    pairs = [[*zip(a.shape, b.shape, strict=True)] for a, b in zip(*results, strict=True)]
    apart = [*dict.fromkeys(pair for each in pairs for pair in each if not is_common(pair))]
    if not apart:
        return ()
    if inside.isdisjoint(symbols(*(size for pair in apart for size in pair))):
        device = condition.device
        numbers: Sequence[Tensor] = [
            where(condition, *(size_value(size, device=device) for size in pair)) for pair in apart
        ]
    else:
        numbers = compute(apart)
    data_sizes = {
        pair: size_from(number, "branch") for pair, number in zip(apart, numbers, strict=True)
    }
    return tuple(tuple(data_sizes.get(pair, pair[0]) for pair in each) for each in pairs)


def form(tensor: Tensor) -> tuple[DType, int]:
    """What is alike of results that branches give: the element type and the rank."""
    return tensor.dtype, tensor.ndim
