"""What clusters of blocks know of each other: a fence and an atomic here, an atomic there.

A thread that updates an element atomically learns what those who updated it before had made visible
by a fence. What the threads of a cluster know of other clusters is an entry of a log: each entry
holds all that the entries before it hold, so that one number in a clock says how much is known.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from hidet.sim.values import Array

GENERIC = 0

Known = dict[int, Array]
"""Of each cluster, by its number in the grid: (spaces, actors), a clock of those who act there."""


class Releases:
    """Fences so far, what hangs on each element, and what each cluster has learnt."""

    def __init__(self) -> None:
        self.fences: dict[tuple[int, int], Array] = {}
        """What an actor of a cluster knew at its last fence."""
        self.times = np.zeros(0, np.int64)
        """When each thread of the grid last made its own accesses visible."""
        self.offered: dict[Hashable, Known] = {}
        self.logs: dict[int, list[Known]] = {}

    def learn(self, element: Hashable, me: int) -> int:
        """Cluster `me` sees what hangs on an element: how much of its log that is."""
        offered = self.offered.get(element, {})
        others = {they: clock for they, clock in offered.items() if they != me}
        if not others:
            return 0
        log = self.logs.setdefault(me, [])
        last = log[-1] if log else {}
        if all(they in last and covers(last[they], clock) for they, clock in others.items()):
            return len(log)
        log.append(merged(last, others))
        return len(log)

    def offer(self, element: Hashable, me: int, clock: Array) -> None:
        """A thread of cluster `me` makes what is in a clock visible to those who look next."""
        offered = merged(self.offered.get(element, {}), self.passed_on(me, clock))
        self.offered[element] = merged(offered, {me: clock})

    def passed_on(self, me: int, clock: Array) -> Known:
        """What a clock of cluster `me` holds of others."""
        entries = clock[:, 0].tolist()
        latest = max(entries)
        if not latest:
            return {}
        log = self.logs[me]
        out = {}
        for they in log[latest - 1]:
            parts = [log[entry - 1].get(they) if entry else None for entry in entries]
            plain = parts[GENERIC]
            whole = plain.copy() if plain is not None else np.zeros_like(log[latest - 1][they])
            for space, part in enumerate(parts):
                if part is not None:
                    width = part.shape[1]
                    if width > whole.shape[1]:
                        whole = np.pad(whole, ((0, 0), (0, width - whole.shape[1])))
                    np.maximum(whole[space, :width], part[GENERIC], out=whole[space, :width])
            out[they] = whole
        return out

    def reached(
        self, me: Array, they: Array, entries: tuple[Array, Array], space: int, actor: Array
    ) -> Array:
        """The time up to which clusters `me` see what actors of clusters `they` do.

        `entries` says how much of its log each knows: directly, and in the space asked about.
        """
        out = np.zeros(len(me), np.int64)
        keys = np.stack([me, they, *entries])
        for key in np.unique(keys, axis=1).T:
            rows = np.flatnonzero((keys == key[:, None]).all(axis=0))
            mine, other, plain, special = map(int, key)
            for entry, part in ((plain, space), (special, GENERIC)):
                clock = self.logs[mine][entry - 1].get(other) if entry else None
                if clock is not None:
                    wanted = actor[rows]
                    there = np.where(wanted < clock.shape[1], wanted, 0)
                    time = np.where(there > 0, clock[part, there], 0)
                    out[rows] = np.maximum(out[rows], time)
        return out


def covers(known: Array, clock: Array) -> bool:
    """Whether a clock holds all that another one holds."""
    width = clock.shape[1]
    return known.shape[1] >= width and bool((known[:, :width] >= clock).all())


def joined(first: Array, second: Array) -> Array:
    """All that either of two clocks holds."""
    if first.shape[1] < second.shape[1]:
        first, second = second, first
    out = first.copy()
    width = second.shape[1]
    np.maximum(out[:, :width], second, out=out[:, :width])
    return out


def merged(first: Known, second: Known) -> Known:
    """All that either holds, cluster by cluster."""
    out = dict(first)
    for they, clock in second.items():
        out[they] = joined(out[they], clock) if they in out else clock
    return out
