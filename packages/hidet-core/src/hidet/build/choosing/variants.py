"""How a group is computed whose sizes only calls tell: by one schedule, or by one for each of a few
ranges of sizes, between which a call chooses.

The cost model is asked at calls of all extents: an extent is the product of the symbols in the
anchor's sizes. Neighbouring extents share a schedule unless dividing them saves enough, since each
variant of a kernel is compiled and kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from math import log, pow, prod

import numpy as np

from hidet import options
from hidet.build.choosing.choices import SURELY, detours, ranking, taken
from hidet.build.choosing.sizes import plan_size
from hidet.compute.sizes import product
from hidet.fusion.group import Group
from hidet.graph.operator import Op
from hidet.ir.expr import Var
from hidet.ir.walk import variables
from hidet.runtime.plans.sizes import Relation
from hidet.schedules.typical import agrees, called, estimated
from hidet.target import Target

EXTENTS = tuple(2**power for power in range(15))
"""Those of the calls that the cost model is asked about. Where tiles fill the multiprocessors once,
and where some are left for a second wave, lies less than four times apart."""
LARGEST = 1 << 30
"""Elements of a tensor beyond which a call is left out: batches of images do not grow so far."""
WORTH = 1.2
"""What one range more has to save: so much at one level, or 3 % at six. By the cost model eight
linear layers of BERT and Llama have 37 kernels then, and lose 3.9 % from 128 rows on, beside 24 and
12 % with half as many levels at 1.33; a kernel more takes seconds to compile."""
SIDE = 8
"""What symbols are where it is asked whether their product alone decides."""


@dataclass(frozen=True)
class Variant:
    """A group as it is computed in calls in whose sizes all of `when` hold."""

    group: Group
    when: tuple[Relation, ...] = ()


def variants(group: Group, target: Target) -> list[Variant]:
    """How a group is computed, for each range of sizes that has a way of its own."""
    most = options.variants.get()
    if target.kind != "cuda" or group.anchor is None or group.choice is not None or most == 1:
        return [Variant(group)]
    levels = Levels(group, target)
    if len(levels.sizes) < 2 or not levels.by_extent:
        return [Variant(group)]
    return [*levels.variants(most)]


class Levels:
    """What the candidates for a group's anchor take in calls of growing extents."""

    def __init__(self, group: Group, target: Target) -> None:
        assert group.anchor is not None
        self.group, self.target, self.op = group, target, group.anchor.op
        self.symbols = symbols_of(self.op)
        self.sizes = [*self.usual()] if self.symbols else []
        """What each symbol is, level by level."""

    def usual(self) -> Iterator[int]:
        """The sizes at which the operator makes sense, and is no larger than those that occur."""
        for size in dict.fromkeys(self.size(extent) for extent in EXTENTS):
            call = called(self.op, size)
            if agrees(call) and largest(self.op, call) <= LARGEST:
                yield size

    def size(self, extent: float) -> int:
        """What each symbol is where their product is about so much."""
        return round(pow(extent, 1 / len(self.symbols)))

    def extent(self, size: int) -> int:
        """The product of the symbols where each is so much."""
        return prod([size] * len(self.symbols))

    @property
    def by_extent(self) -> bool:
        """Whether estimates depend on the product of the symbols alone, as those of matmuls do."""
        if len(self.symbols) == 1:
            return True
        calls = [called(self.op, 1, {each: self.extent(SIDE)}) for each in self.symbols]
        if not all(map(agrees, calls)):
            return False
        known = ranking(self.op, self.target)
        times = [[s for s, _ in known.at(call)] for call in (called(self.op, SIDE), *calls)]
        return all(np.allclose(times[0], each, rtol=SURELY - 1, atol=0) for each in times)

    def times(self, size: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The logarithms of the seconds that each candidate takes where symbols are so much."""
        known = ranking(self.op, self.target)
        group = replace(self.group, calls=(size,))
        ways = detours(group, {each: None for each, _ in known.ways}, self.target)
        costs = zip(known.ways, known.at(called(self.op, size)), strict=True)
        return np.log([taken(seconds, ways[each]) for (each, _), (seconds, _) in costs])

    @cached_property
    def table(self) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """The same level by level."""
        return np.array([self.times(size) for size in self.sizes])

    def cost(self, start: int, stop: int) -> float:
        """What the best candidate for some levels takes in all of them."""
        return float(self.table[start:stop].sum(axis=0).min())

    def parts(self, most: int) -> tuple[tuple[int, int], ...]:
        """The levels in up to so many runs: one more is worth it if it saves enough."""
        count = len(self.sizes)
        costs = {run: self.cost(*run) for run in combinations(range(count + 1), 2)}
        nothing: tuple[float, tuple[tuple[int, int], ...]] = (0.0, ())
        best = {0: nothing}  # for so many levels from the first one on
        for _ in range(most):
            best = {0: nothing} | {
                stop: min(
                    (cost + costs[start, stop] + log(WORTH), (*runs, (start, stop)))
                    for start, (cost, runs) in best.items()
                    if start < stop
                )
                for stop in range(1, count + 1)
            }
        return best[count][1]

    def variants(self, most: int) -> Iterator[Variant]:
        """A variant for each run of levels with a schedule of its own."""
        runs = self.parts(most)
        groups = [replace(self.group, calls=tuple(self.sizes[slice(*run)])) for run in runs]
        borders = [self.border(*pair) for pair in pairwise(runs)]
        for group, low, after in zip(groups, [0, *borders], [*borders, None], strict=True):
            yield Variant(group, self.when(low, after))

    def border(self, before: tuple[int, int], after: tuple[int, int]) -> int:
        """The least extent in the latter of two neighbouring runs: the first one between their
        levels at which its candidate is faster."""
        last, first = self.sizes[before[1] - 1], self.sizes[after[0]]
        one, other = (int(self.table[slice(*run)].sum(axis=0).argmin()) for run in (before, after))
        middle = round((last * first) ** 0.5)
        if middle > last and self.times(middle)[other] < self.times(middle)[one]:
            return self.extent(middle)
        return self.extent(first)

    def when(self, low: int, after: int | None) -> tuple[Relation, ...]:
        """That the extent is at least `low`, and less than `after`."""
        extent = plan_size(product(self.symbols))
        least = [Relation(low, "<=", extent)] if low else []
        return (*least, *([] if after is None else [Relation(extent, "<=", after - 1)]))


def symbols_of(op: Op) -> list[Var]:
    """The symbols in an operator's sizes."""
    return list(dict.fromkeys(var for size in op.symbolic_sizes() for var in variables(size)))


def largest(op: Op, call: Op) -> int:
    """The elements of the largest tensor in a call of those whose sizes only calls tell."""
    pairs = zip((*op.types(), *op.results()), (*call.types(), *call.results()), strict=True)
    return max(prod(map(estimated, known.shape)) for open_, known in pairs if open_ != known)
