"""Results of two branches of which one is larger: data tell their sizes.

Which branch runs says how large such a result is, so the host reads that before the branch runs.
Sizes that a branch computes, as those of what it selects, are computed ahead of it, by control flow
of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet.compute.sizes import same
from hidet.graph import Tensor
from hidet.ir.expr import Expr, Var
from hidet.ir.walk import variables
from hidet.ops.create import size_value
from hidet.ops.select import where
from hidet.ops.size_from import size_from
from hidet.types import Size

Pair = tuple[Size, Size]
"""A size in the first branch, and in the second one."""


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
    told = {pair: size_from(number, "branch") for pair, number in zip(apart, numbers, strict=True)}
    return tuple(tuple(told.get(pair, pair[0]) for pair in each) for each in pairs)


def symbols(*sizes: Size) -> set[Var]:
    """The symbols that sizes mention."""
    return {var for size in sizes if isinstance(size, Expr) for var in variables(size)}
