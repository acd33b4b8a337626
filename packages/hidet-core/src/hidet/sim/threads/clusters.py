"""Clusters of blocks: their barrier, and accesses to the shared memory of another block.

PTX ISA, "barrier.cluster" and "mapa".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hidet.sim.faults import ClusterMisuse
from hidet.sim.order.actors import GENERIC
from hidet.sim.threads.simt_group import Residents, SimtGroup, thread_name
from hidet.sim.values import Array, Mask

NEVER = -1


@dataclass(eq=False)
class Arrivals:
    """The barrier of one cluster."""

    ticket: Array
    """The generation that each thread has arrived in and not waited for."""
    published: list[Array] = field(default_factory=list)
    """What those who arrived in this generation release."""
    passed: Array | None = None
    """What those of the last generation released."""
    generation: int = 0


def arrivals_of(simt: SimtGroup, mask: Mask) -> list[tuple[int, Arrivals, Array]]:
    """The clusters of the threads in the mask, with their rows."""
    table: dict[int, Arrivals] = simt.residents.state.setdefault("cluster barriers", {})
    cluster, out = simt.slot // simt.team.cluster, []
    for number in np.unique(cluster[mask]).tolist():
        arrivals = table.get(number)
        if arrivals is None:
            threads = simt.team.threads * simt.team.cluster
            arrivals = table[number] = Arrivals(np.full(threads, NEVER, np.int64))
        out.append((number, arrivals, np.flatnonzero(mask & (cluster == number))))
    return out


def inside(simt: SimtGroup) -> Array:
    """Each row's number in its cluster."""
    found: Array = simt.slot % simt.team.cluster * simt.team.threads + simt.thread
    return found


def arrive(simt: SimtGroup, mask: Mask, release: bool) -> None:
    """Each thread arrives at the barrier of its cluster, and perhaps passes on what it knows."""
    clocks = simt.clocks
    clocks.tick()
    for cluster, arrivals, rows in arrivals_of(simt, mask):
        numbers = inside(simt)[rows]
        if (arrivals.ticket[numbers] != NEVER).any():
            row = int(rows[np.argmax(arrivals.ticket[numbers] != NEVER)])
            simt.fault(
                ClusterMisuse,
                "a thread arrives at the barrier of its cluster, and has not waited since it did",
                row,
                "call cluster_wait() after each cluster_arrive()",
            )
        arrivals.ticket[numbers] = arrivals.generation
        _, actors, _ = simt.actors(only(simt, rows))
        if release:
            arrivals.published += [clocks.published(cluster, int(actor)) for actor in actors]
        else:
            arrivals.published += fenced(simt, rows, cluster, actors)
        advance(simt, cluster, arrivals)
    simt.run.progress += 1


def fenced(simt: SimtGroup, rows: Array, cluster: int, actors: Array) -> list[Array]:
    """What threads pass on that do not release: what they knew at fences, and their mbarriers."""
    clocks = simt.clocks
    released = simt.run.handover.released
    known = (released.get((simt.team.first, cluster, int(a))) for a in actors)
    found = [each for each in known if each is not None]
    numbers = set(simt.number[rows].tolist())
    for barrier in simt.mbarriers.values():
        thread = int(barrier.initialiser.thread[0])
        if barrier.fenced and thread in numbers:
            lane = clocks.lane_actor(thread % simt.team.threads, barrier.slot)
            clock = np.zeros((3, lane + 1), np.int64)
            clock[:, lane] = barrier.stamp + 1
            found.append(clock)
    return found


def wait(simt: SimtGroup, mask: Mask) -> Iterator[None]:
    """Wait until all threads of the cluster have arrived, and learn what they released."""
    for _, arrivals, rows in arrivals_of(simt, mask):
        missing = arrivals.ticket[inside(simt)[rows]] == NEVER
        if missing.any():
            simt.fault(
                ClusterMisuse,
                "a thread waits at the barrier of its cluster without having arrived",
                int(rows[np.argmax(missing)]),
                "call cluster_arrive() before cluster_wait()",
            )
    if passed(simt, mask):
        return
    with simt.waiting(mask, lambda: "all threads of the cluster"):
        while not passed(simt, mask):
            yield


def passed(simt: SimtGroup, mask: Mask) -> bool:
    """Whether the threads may go on; if so, they learn what the others released."""
    found = arrivals_of(simt, mask)
    for cluster, arrivals, _ in found:
        advance(simt, cluster, arrivals)
    if any((m.ticket[inside(simt)[rows]] == m.generation).any() for _, m, rows in found):
        return False
    for cluster, arrivals, rows in found:
        arrivals.ticket[inside(simt)[rows]] = NEVER
        if arrivals.passed is not None:
            for actor in simt.actors(only(simt, rows))[1].tolist():
                simt.clocks.learn(cluster, actor, arrivals.passed)
    return True


def advance(simt: SimtGroup, cluster: int, arrivals: Arrivals) -> None:
    """Complete the generation if all threads that have not left the kernel have arrived."""
    if not (arrivals.ticket == arrivals.generation).any():
        return
    for other in simt.residents.simt_groups:
        there = other.everyone & ~other.exited & (other.slot // simt.team.cluster == cluster)
        if (arrivals.ticket[inside(other)[there]] != arrivals.generation).any():
            return
    width = max((each.shape[1] for each in arrivals.published), default=1)
    arrivals.passed = np.zeros((3, width), np.int64)
    for each in arrivals.published:
        np.maximum(
            arrivals.passed[:, : each.shape[1]], each, out=arrivals.passed[:, : each.shape[1]]
        )
    arrivals.published = []
    arrivals.generation += 1
    simt.clocks.tick()
    simt.run.progress += 1


def only(simt: SimtGroup, rows: Array) -> Mask:
    """A mask of some rows."""
    mask = np.zeros(simt.count, np.bool_)
    mask[rows] = True
    return mask


# ---- the memory of other blocks ------------------------------------------------------------------


@dataclass(frozen=True)
class Reach:
    """An access to another block's memory: the last one of a thread's warp."""

    stamp: int
    site: int
    thread: int


def reached(simt: SimtGroup, slots: Array, lanes: Array, remember: bool = True) -> None:
    """`ClusterMisuse` unless the blocks at `slots`, whose memory is touched, have begun.

    Whether they still run when this happens can be said at the end only (`check_end`).
    """
    clocks, size = simt.clocks, simt.team.cluster
    table: dict[tuple[int, int, int], Reach] = simt.residents.state.setdefault("reaches", {})
    mine, rows = simt.slot[lanes], np.arange(simt.count)[lanes]
    for index in unlike(mine, simt.warp[lanes], slots):
        slot, row = int(slots[index]), int(rows[index])
        if slot == mine[index]:
            continue
        thread = int(simt.number[row])
        cluster = slot // size
        own = [int(clocks.warp_actor(mine[index], simt.warp[row]))]
        own += clocks.lanes.get(own[0] - 1, [])
        begun = clocks.seen[GENERIC, cluster][np.ix_(own, actors_of(simt, slot))].any()
        if not begun and not met(simt, cluster):
            simt.fault(
                ClusterMisuse,
                "the shared memory of another block is touched, which may not have begun",
                row,
                "let the blocks of the cluster meet first: cluster_sync()",
            )
        if remember:
            table[cluster, own[0], slot] = Reach(clocks.now, simt.site, thread)


def unlike(*columns: Array) -> list[int]:
    """The first row of each kind."""
    if len(columns[0]) == 1:
        return [0]
    found: list[int] = np.unique(np.stack(columns), axis=1, return_index=True)[1].tolist()
    return found


def met(simt: SimtGroup, cluster: int) -> bool:
    """Whether the blocks of a cluster have met at its barrier."""
    table: dict[int, Arrivals] = simt.residents.state.get("cluster barriers", {})
    return cluster in table and table[cluster].generation > 0


def actors_of(simt: SimtGroup, slot: int) -> list[int]:
    """The warps and single threads of a block, as actors."""
    first = slot % simt.team.cluster * simt.clocks.warps
    warps = range(first, first + simt.clocks.warps)
    lanes = [lane for warp in warps for lane in simt.clocks.lanes.get(warp, ())]
    return [*(1 + warp for warp in warps), *lanes]


def check_end(residents: Residents) -> None:
    """`ClusterMisuse` where a block may end before another one touches its memory."""
    simt = residents.simt_groups[0]
    clocks = simt.clocks
    table: dict[tuple[int, int, int], Reach] = residents.state.get("reaches", {})
    for (cluster, actor, slot), reach in table.items():
        lane = int(clocks.lane_number(np.array([reach.thread]))[0])
        columns = [actor, lane] if lane else [actor]
        known = clocks.seen[GENERIC, cluster][np.ix_(actors_of(simt, slot), columns)].max()
        if reach.stamp >= known:
            simt.site = reach.site
            simt.fault(
                ClusterMisuse,
                f"{thread_name(simt.run, simt.team, reach.thread)} touches the shared memory of "
                f"block {slot % simt.team.cluster} of its cluster, which may have ended",
                help="let the blocks of the cluster meet before they end: cluster_sync()",
            )
