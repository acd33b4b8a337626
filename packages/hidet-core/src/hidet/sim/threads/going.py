"""Who goes on after a statement: masks that shrink and join, parts that take turns."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

import numpy as np

from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Mask, every, some, varies

Going: TypeAlias = "Mask | None"
"""The threads that go on; None: nobody."""
Waiting: TypeAlias = Generator[None, None, Going]
"""A part in execution; it yields whenever it waits for other threads."""


def together(sides: list[Waiting]) -> Generator[None, None, list[Going]]:
    """Run several parts in turns until all have ended; what each returned."""
    ends: list[Going] = [None] * len(sides)
    alive = dict(enumerate(sides))
    while alive:
        for number, side in list(alive.items()):
            try:
                next(side)
            except StopIteration as end:
                ends[number] = end.value
                del alive[number]
        if alive:
            yield
    return ends


def narrowed(mask: Mask, holds: Any) -> Going:
    """The mask where a condition holds; None if nobody is left, the same object if all are."""
    if not varies(holds):
        return mask if holds else None
    left = mask & holds
    if not some(left):
        return None
    return mask if every(left == mask) else left


def union(ends: list[Going], whole: Mask) -> Going:
    """All threads of several masks; `whole` itself if that is all of it."""
    found = [end for end in ends if end is not None]
    if not found:
        return None
    both = np.logical_or.reduce(found)
    return whole if every(both == whole) else both


def remaining(simt: SimtGroup, mask: Mask) -> Going:
    """The threads of the mask that have not left the kernel."""
    return narrowed(mask, ~simt.exited) if some(simt.exited) else mask
