"""Handing on between blocks: a fence, then an atomic on an element that others look at too.

Within a block, and a cluster, `handover` does the same.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from hidet.sim.clocks import GENERIC, Clocks
from hidet.sim.releases import joined
from hidet.sim.values import Array


@dataclass(frozen=True)
class Touch:
    """Threads of one block that access one element atomically."""

    slot: int
    threads: Array
    """Their numbers in the launch: one, or those of a warp."""
    whole: bool
    """Whether it is all of the warp."""
    reads: bool
    writes: bool


def fence(clocks: Clocks, slots: Array, actors: Array, numbers: Array) -> None:
    """What `actors` know, and threads `numbers` did, may be released to other blocks."""
    now, releases = clocks.tick(), clocks.releases
    missing = int(numbers.max()) + 1 - len(releases.times)
    if missing > 0:
        releases.times = np.pad(releases.times, (0, len(releases.times) + missing))
    releases.times[numbers] = now
    for slot, actor in zip(slots.tolist(), actors.tolist(), strict=True):
        cluster = slot // clocks.team.cluster
        known = clocks.seen[:, cluster, actor].copy()
        known[:, actor] = np.maximum(known[:, actor], clocks.fenced[:, cluster, actor])
        if actor > clocks.all_warps:
            np.maximum(known, clocks.seen[:, cluster, clocks.warp_of(actor)], out=known)
        releases.fences[clocks.place(cluster), actor] = known


def exchange(clocks: Clocks, element: Hashable, by: Touch) -> None:
    """Threads access an element atomically: they learn what hangs on it, and release."""
    cluster = by.slot // clocks.team.cluster
    me, releases = clocks.place(cluster), clocks.releases
    inside = by.threads % clocks.team.threads
    warp = int(clocks.warp_actor(by.slot, int(inside[0]) // clocks.team.warp))
    actor = warp if by.whole else clocks.lane_actor(int(inside[0]), by.slot)
    if by.reads:
        known = clocks.seen[GENERIC, cluster, actor]
        known[0] = max(int(known[0]), releases.learn(element, me))
    elif by.writes:
        releases.offered.pop(element, None)
    last = int(by.threads.max())
    time = int(releases.times[by.threads].min()) if last < len(releases.times) else 0
    if by.writes and time:
        clock = np.zeros((3, actor + 1), np.int64)
        clock[GENERIC, actor] = time
        for each in (warp, actor)[: 1 if by.whole else 2]:
            snapshot = releases.fences.get((me, each))
            clock = clock if snapshot is None else joined(clock, snapshot)
        releases.offer(element, me, clock)
