"""Blocks lie evenly on the multiprocessors, though those of the kernel before still run on some.

A block goes to the multiprocessor that has most places left for it. Where the kernel before has
ended there are many; those would take all of a few blocks, up to eight on each, while others have
none (measured on an H200: `benchmarks/results/h200-boundaries.md`). So each block takes as much
shared memory as keeps more than their share from a multiprocessor.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from hidet.runtime.plans.plan import Launch
from hidet.runtime.plans.sizes import evaluate


def spread(step: Launch) -> Launch:
    """A launch, its sizes numbers, whose blocks lie evenly wherever they begin."""
    room = step.room
    if room is None:
        return step
    blocks = prod(evaluate(size, {}) for size in step.grid)
    share = max(room.few, -(-blocks // room.cores))
    if share >= room.most:
        return step
    least = room.shared_bytes // (share + 1) + 1 - room.fixed
    return replace(step, shared_bytes=max(step.shared_bytes, least))
