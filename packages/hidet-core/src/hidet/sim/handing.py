"""Handing on what a thread knows: a fence, then an atomic on an element that others update."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from hidet.sim.clocks import GENERIC, Clocks
from hidet.sim.releases import joined
from hidet.sim.values import Array


def fence(clocks: Clocks, slots: Array, actors: Array, numbers: Array, far: bool) -> None:
    """What `actors` know, and threads `numbers` did, may be released within reach."""
    now = clocks.tick()
    for reach in (False, True) if far else (False,):
        times = clocks.releases.times.get(reach, np.zeros(0, np.int64))
        missing = int(numbers.max()) + 1 - len(times)
        if missing > 0:
            times = clocks.releases.times[reach] = np.pad(times, (0, len(times) + missing))
        times[numbers] = now
    for cluster, actor in zip(
        (slots // clocks.team.cluster).tolist(), actors.tolist(), strict=True
    ):
        known = clocks.seen[:, cluster, actor].copy()
        known[:, actor] = np.maximum(known[:, actor], clocks.fenced[:, cluster, actor])
        if actor > clocks.all_warps:
            np.maximum(known, clocks.seen[:, cluster, clocks.warp_of(actor)], out=known)
        for reach in (False, True) if far else (False,):
            clocks.releases.fences[clocks.place(cluster), actor, reach] = known


def exchange(clocks: Clocks, element: Hashable, slot: int, threads: Array, whole: bool) -> None:
    """Threads (a warp, or one) update an element atomically: they learn, and release.

    `threads` are numbers in the launch.
    """
    cluster = slot // clocks.team.cluster
    me, releases = clocks.place(cluster), clocks.releases
    inside = threads % clocks.team.threads
    warp = int(clocks.warp_actor(slot, int(inside[0]) // clocks.team.warp))
    actor = warp if whole else clocks.lane_actor(int(inside[0]), slot)
    known = releases.within.get((element, me))
    if known is not None:
        clocks.learn(cluster, actor, known)
    clocks.seen[GENERIC, cluster, actor, 0] = max(
        int(clocks.seen[GENERIC, cluster, actor, 0]), releases.learn(element, me)
    )
    for far, times in releases.times.items():
        last = int(threads.max())
        time = int(times[threads].min()) if last < len(times) else 0
        if time:
            clock = np.zeros((3, actor + 1), np.int64)
            clock[GENERIC, actor] = time
            for each in (warp, actor)[: 1 if whole else 2]:
                snapshot = releases.fences.get((me, each, far))
                clock = clock if snapshot is None else joined(clock, snapshot)
            releases.offer(element, me, clock, far)
