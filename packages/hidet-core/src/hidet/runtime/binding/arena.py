"""One piece of memory for all workspaces of a plan.

Steps may run in parallel where nothing connects them, so liveness along a line is not enough: two
buffers may share memory only if, in the graph of dependencies, every step that uses one comes
before every step that uses the other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import attrgetter

from hidet.runtime.binding.order import ancestors

ALIGNMENT = 256


@dataclass(frozen=True)
class Arena:
    """Where each buffer lies, in bytes from the start, and how large the whole is."""

    offsets: dict[int, int]
    nbytes: int


def place(
    sizes: Mapping[int, int], users: Mapping[int, Collection[int]], waits: Sequence[set[int]]
) -> Arena:
    """Offsets for buffers of `sizes` bytes.

    `users` lists the steps that touch each buffer, `waits` the steps that each step waits for.
    Each is placed at the lowest offset free of those it must not meet: the largest first, or those
    that are largest for longest, or in order of use, whichever comes out smallest.
    """
    before = ancestors(waits)
    spans = {each: (min(users[each], default=0), max(users[each], default=0)) for each in sizes}
    orders = (
        sorted(sizes, key=lambda each: (-sizes[each], each)),
        sorted(
            sizes, key=lambda each: (-sizes[each] * (1 + spans[each][1] - spans[each][0]), each)
        ),
        sorted(sizes, key=lambda each: (spans[each][0], -sizes[each], each)),
    )
    overlapping: dict[int, set[int]] = {each: set() for each in sizes}
    for one, other in combinations(sizes, 2):
        if not apart(users.get(one, ()), users.get(other, ()), before):
            overlapping[one].add(other)
            overlapping[other].add(one)
    return min((filled(order, sizes, overlapping) for order in orders), key=attrgetter("nbytes"))


def filled(
    order: Sequence[int], sizes: Mapping[int, int], overlapping: Mapping[int, Collection[int]]
) -> Arena:
    """The arena with buffers placed in an order, none where one lies that it may meet."""
    offsets: dict[int, int] = {}
    for buffer in order:
        taken = sorted(
            (offsets[other], offsets[other] + rounded(sizes[other]))
            for other in overlapping[buffer]
            if other in offsets
        )
        offsets[buffer] = first_gap(taken, rounded(sizes[buffer]))
    total = max((offsets[each] + rounded(sizes[each]) for each in offsets), default=0)
    return Arena(offsets, total)


def rounded(nbytes: int) -> int:
    """A size rounded up so that the next buffer is aligned."""
    return -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT


def first_gap(taken: Sequence[tuple[int, int]], nbytes: int) -> int:
    """The lowest offset with room for `nbytes` between taken stretches, sorted by their start."""
    offset = 0
    for start, end in taken:
        if start - offset >= nbytes:
            return offset
        offset = max(offset, end)
    return offset


def apart(first: Collection[int], second: Collection[int], before: Sequence[int]) -> bool:
    """Whether all users of one buffer are done before any user of the other starts."""
    return all_before(first, second, before) or all_before(second, first, before)


def all_before(early: Collection[int], late: Collection[int], before: Sequence[int]) -> bool:
    """Whether each step of `early` is an ancestor of each step of `late`."""
    needed = 0
    for step in early:
        needed |= 1 << step
    return all(before[step] & needed == needed for step in late)
