"""Several iterations of a loop in one pass of its WHILE node, which costs about as much as two
kernels: where the number of iterations is known and a body is few kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from hidet.runtime.plans.plan import Launch, Repeat, Step

MOST, NODES = 16, 64
"""The most iterations of one pass, and the most kernels: beyond these the node's own time is small
beside theirs, and a graph whose buffers move takes long to change."""


def iterations_at_once(step: Repeat, steps: Sequence[Step]) -> int:
    """How many iterations of a body of `steps` a pass runs: an even number, so that what they
    carry lies at its end where it lay at its start; 1 where a condition may end the loop, or the
    body is more than a few kernels."""
    is_known = step.go_on is None and step.trips is None and step.again is None
    if not (is_known and isinstance(step.count, int) and steps):
        return 1
    if not all(isinstance(each, Launch) for each in steps):
        return 1
    return max(min(MOST, NODES // len(steps), step.count) // 2 * 2, 1)


Side: TypeAlias = tuple[Sequence[int], Sequence[int | None]]
"""Where an iteration reads what is carried, and where it writes it: nowhere else what has no
twin."""


def sides(step: Repeat) -> tuple[Side, Side]:
    """The buffers of an iteration, if it and those after it are an even number of iterations, and
    if they are an odd one: so the last one writes the results."""
    pairs = [*zip(step.results, step.twins, strict=True)]
    twins = [result if twin is None else twin for result, twin in pairs]
    results = [None if twin is None else result for result, twin in pairs]
    return (step.results, step.twins), (twins, results)
