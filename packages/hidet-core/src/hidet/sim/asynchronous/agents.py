"""Asynchronous operations: what they read and write, and by what their completion is known.

An operation is an agent of its own in the order of things. It begins with what its issuer's
asynchronous proxy can see; its values move at once, but count as done for nobody until a wait on
the mbarrier (see `deliveries`) or the group by which it completes. Until then its targets are
poisoned, and its sources held.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import numpy as np

from hidet.sim.asynchronous.deliveries import promise_bytes
from hidet.sim.faults import MissingWait, OutOfBounds
from hidet.sim.memories.access import check_read, check_written, granules, note_write
from hidet.sim.memory import Buffer, Pointer
from hidet.sim.order.actors import (
    AGENTS,
    ASYNC_GLOBAL,
    ASYNC_SHARED,
    AT_MBARRIER,
    GENERIC,
    RETIRED,
    Agent,
)
from hidet.sim.threads.clusters import reached
from hidet.sim.threads.simt_group import Residents, SimtGroup, thread_name
from hidet.sim.values import Array, Mask
from hidet.target import WARP
from hidet.types import Scope


@dataclass
class Operation:
    """One asynchronous operation under way, as intrinsics see it (`hidet.intrinsics.Agent`)."""

    simt: SimtGroup
    rows: Array
    """The rows of the SIMT group that issue it: one thread, or whole warps."""
    agent: Agent
    group: str | None
    slot: int
    """The block whose shared memory it touches."""

    def read(self, place: Pointer, offsets: Array, width: int) -> Array:
        """(n, width) bytes at n byte offsets from a place."""
        memory, at = place.buffer, self.positions(place, offsets, width)
        self.agent.space = space_of(memory)
        check_read(self.simt, memory, at, width, self.issuers(len(at)), self.agent)
        return np.asarray(memory.view(np.dtype(np.uint8))[at[:, None] + np.arange(width)])

    def write(self, place: Pointer, offsets: Array, data: Array) -> None:
        """Write (n, width) bytes at n byte offsets from a place."""
        width = data.shape[1]
        memory, at = place.buffer, self.positions(place, offsets, width)
        self.agent.space = space_of(memory)
        note_write(self.simt, memory, at, width, self.issuers(len(at)), agent=self.agent)
        memory.view(np.dtype(np.uint8))[at[:, None] + np.arange(width)] = data

    def update(
        self, place: Pointer, offsets: Array, data: Array, change: Callable[[Array, Array], Array]
    ) -> None:
        """Atomically replace (n, width) bytes at n byte offsets by `change(old, data)`."""
        width = data.shape[1]
        memory, at = place.buffer, self.positions(place, offsets, width)
        self.agent.space = space_of(memory)
        issuers = self.issuers(len(at))
        check_written(self.simt, memory, *granules(memory, at, width), issuers, "updated")
        note_write(self.simt, memory, at, width, issuers, atomic=True, agent=self.agent)
        view, each = memory.view(np.dtype(np.uint8)), at[:, None] + np.arange(width)
        view[each] = change(view[each], data)

    def positions(self, place: Pointer, offsets: Array, width: int) -> Array:
        """Where offsets in the block's instance lie in the buffer's data."""
        memory, offsets = place.buffer, np.asarray(offsets, np.int64) + place.offset
        outside = (offsets < 0) | (offsets + width > memory.size)
        if outside.any():
            worst = int(offsets[np.argmax(outside)])
            self.simt.fault(
                OutOfBounds,
                f"{memory.scope} {memory.name} has {memory.size} bytes; {self.agent.name} "
                f"touches {width} at byte {worst}, {memory.at(worst)}",
                int(self.rows[0]),
            )
        base = self.slot * memory.stride if memory.scope is Scope.SHARED else 0
        return np.asarray(offsets + base, np.int64)

    def issuers(self, count: int) -> Array:
        """The issuing row, for each of `count` accesses."""
        return np.full(count, self.rows[0])

    def move_to(self, block: int) -> None:
        """What it touches from now on is the shared memory of a block of the cluster."""
        size = self.simt.team.cluster
        self.slot = self.slot // size * size + block
        row = self.rows[:1]
        reached(self.simt, np.array([self.slot]), row, remember=False)

    def finish_at_barrier(self, barrier: Pointer, nbytes: int) -> None:
        """It completes with `nbytes` bytes of the current phase of an mbarrier."""
        promise_bytes(self.simt, int(self.rows[0]), self.slot, barrier, nbytes, self.agent)

    def finish_in_group(self) -> None:
        """It completes with the group that its issuers commit next."""
        assert self.group is not None
        clocks = self.simt.clocks
        owner = self.agent.completes_in
        clocks.complete(self.agent.number, clocks.channel((owner, "done")), clocks.now)
        clocks.complete(self.agent.number - 1, clocks.channel((owner, "read")), clocks.now)


def space_of(memory: Buffer) -> int:
    """Which writes of threads an operation sees in a buffer."""
    return ASYNC_GLOBAL if memory.scope is Scope.GLOBAL else ASYNC_SHARED


def launched(
    simt: SimtGroup,
    rows: Array,
    kind: str,
    group: str | None,
    block: int | None = None,
    generic: bool = False,
) -> Operation:
    """A new operation that the thread of one row, or the whole warps of many, issue.

    It touches the shared memory of their block, or that of block `block` of their cluster, and sees
    what their asynchronous proxies see, or, if it is `generic`, what they see themselves.
    """
    clocks = simt.clocks
    clocks.tick()
    actors = issuing_actors(simt, rows)
    slot = int(simt.slot[rows[0]])
    cluster = slot // simt.team.cluster
    published = [clocks.published(cluster, actor) for actor in actors]
    width = min(each.shape[1] for each in published)
    clock = np.minimum.reduce([each[:, :width] for each in published])
    owner = owner_of(simt, rows, group)
    thread = int(simt.number[rows[0]])
    agent = clocks.begin(kind, thread, cluster, simt.site, clock, owner)
    agent.generic = generic
    found = Operation(simt, rows, agent, group, slot)
    if block is not None:
        found.move_to(block)
    return found


def issuing_actors(simt: SimtGroup, rows: Array) -> list[int]:
    """Those who issue, as actors of the clocks."""
    if len(rows) == 1:
        row = int(rows[0])
        return [simt.clocks.lane_actor(int(simt.thread[row]), int(simt.slot[row]))]
    first = rows[::WARP]
    return [int(a) for a in simt.clocks.warp_actor(simt.slot[first], simt.warp[first])]


def owner_of(simt: SimtGroup, rows: Array, group: str | None) -> tuple[str, int]:
    """Whose groups these are: a thread's, or a warpgroup's."""
    slot = int(simt.slot[rows[0]])
    inside = slot % simt.team.cluster * simt.team.threads + int(simt.thread[rows[0]])
    if group == "wgmma":
        return (group, inside // (4 * WARP))
    return (group or AT_MBARRIER, inside)


# ---- groups --------------------------------------------------------------------------------------


@dataclass
class Groups:
    """When each issuer closed its groups: the last entry is the newest."""

    closed: dict[tuple[int, Hashable, int], list[int]] = field(default_factory=dict)


def commit_group(simt: SimtGroup, mask: Mask, group: str) -> None:
    """What each thread (of wgmma: each warp) began since its last commit is one group."""
    groups: Groups = simt.residents.state.setdefault("groups", Groups())
    time = simt.clocks.tick()
    for row in waiters(simt, mask, group):
        groups.closed.setdefault(group_key(simt, row, group), []).append(time)


def wait_group(simt: SimtGroup, mask: Mask, group: str, pending: int, only_read: bool) -> None:
    """Wait until at most `pending` groups of each are left (their sources read, if that is all)."""
    groups: Groups = simt.residents.state.setdefault("groups", Groups())
    clocks = simt.clocks
    clocks.tick()
    for row in waiters(simt, mask, group):
        closed = groups.closed.get(group_key(simt, row, group), [])
        if len(closed) <= pending:
            continue
        time = closed[len(closed) - 1 - pending]
        slot, owner = int(simt.slot[row]), owner_of(simt, np.array([row]), group)
        if (owner, "done") not in clocks.actors:
            continue  # all its groups are empty
        actor = waiting_actor(simt, row, group)
        for part in ("read",) if only_read else ("read", "done"):
            channel = clocks.channel((owner, part))
            entry = clocks.seen[:, slot // simt.team.cluster, actor, channel]
            np.maximum(entry, time, out=entry)


def waiters(simt: SimtGroup, mask: Mask, group: str) -> list[int]:
    """A row for each thread, or for each warp where warps have groups together."""
    if group == "wgmma":
        return [int(w) * WARP for w in np.flatnonzero(mask.reshape(-1, WARP).any(axis=1))]
    return [int(row) for row in np.flatnonzero(mask)]


def group_key(simt: SimtGroup, row: int, group: str) -> tuple[int, Hashable, int]:
    """Whose list of groups."""
    return int(simt.slot[row]), group, int(simt.warp[row] if group == "wgmma" else simt.thread[row])


def waiting_actor(simt: SimtGroup, row: int, group: str) -> int:
    """Who learns of the completion."""
    if group == "wgmma":
        return int(simt.clocks.warp_actor(int(simt.slot[row]), int(simt.warp[row])))
    return simt.clocks.lane_actor(int(simt.thread[row]), int(simt.slot[row]))


def check_end(residents: Residents) -> None:
    """`MissingWait` if a block ends while an operation reads or writes its shared memory."""
    simt = residents.simt_groups[0]
    clocks = simt.clocks
    agents = clocks.agents[clocks.first_agent :]
    if not agents:
        return
    lanes = [lane for each in clocks.lanes.values() for lane in each]
    actors = np.array([*range(1, 1 + clocks.all_warps), *lanes])
    known = clocks.seen[GENERIC][:, actors].max(axis=1)
    first = clocks.place(0)
    for agent in agents:
        cluster, channel, time = clocks.done[:, AGENTS - (agent.number - 1)].tolist()
        if channel == RETIRED or (channel and time < known[cluster - first, channel]):
            continue
        simt.site = agent.site
        who = thread_name(simt.run, simt.team, agent.thread)
        simt.fault(
            MissingWait,
            f"the kernel ends while {agent.name} of {who} may still use shared memory",
            help="wait for the mbarrier or group by which it completes",
        )


def fence_proxy(simt: SimtGroup, mask: Mask, spaces: str) -> None:
    """Each thread's accesses so far are visible to the asynchronous proxy."""
    parts = {"all": (ASYNC_SHARED, ASYNC_GLOBAL), "shared::cta": (ASYNC_SHARED,)}
    chosen = parts.get(spaces, (ASYNC_GLOBAL,))
    slots, actors, _ = simt.actors(mask)
    simt.clocks.fence_proxy(slots, actors, chosen)
