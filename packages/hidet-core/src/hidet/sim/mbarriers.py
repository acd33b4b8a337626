"""mbarriers: objects in shared memory at which threads and asynchronous operations arrive.

A phase completes when no arrivals and no bytes are missing; whoever then finds that it has
completed knows what those who arrived knew, and sees what the operations in it wrote.
PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from hidet.sim.access import addresses, granules, note_write
from hidet.sim.clocks import ASYNC_GLOBAL, ASYNC_SHARED, GENERIC, Agent, Who
from hidet.sim.faults import MissingFence, Race
from hidet.sim.gang import Gang
from hidet.sim.memory import Buffer, Pointer
from hidet.sim.misuse import misuse
from hidet.sim.values import Array, Mask

NBYTES = 8
MOST = (1 << 20) - 1
"""Arrivals and bytes that one phase may expect at most."""


@dataclass
class Mbarrier:
    """One mbarrier, in its current phase."""

    buffer: Buffer
    position: int
    """In bytes, in the buffer's data."""
    slot: int
    channel: int
    """The barrier as an actor of the clocks: its row is what its completed phases tell."""
    count: int
    """Arrivals that each phase expects."""
    initialiser: Who
    stamp: int
    pending: int
    phase: int = 0
    """How many phases have completed."""
    bytes: int = 0
    """Bytes that this phase still expects; negative if some came before they were expected."""
    fenced: bool = False
    """Whether the initialisation was made visible to asynchronous operations and the cluster."""
    told: Array = field(default_factory=lambda: np.zeros((3, 1), np.int64))
    """What those who arrived in this phase pass on."""
    completed: list[Agent] = field(default_factory=list)
    """Operations that completed in this phase."""
    looking: dict[int, int] = field(default_factory=dict)
    """Threads that found a phase not complete, and which."""

    def name(self) -> str:
        """The barrier, as a reader knows it."""
        return f"mbarrier {self.buffer.at(self.position % self.buffer.stride)}"

    def state(self) -> str:
        """What the current phase waits for, in words."""
        missing = [f"{self.pending} of {self.count} arrivals are missing"] * bool(self.pending)
        if self.bytes > 0:
            missing.append(f"{self.bytes} bytes are missing")
        elif self.bytes < 0:
            missing.append(f"{-self.bytes} bytes more came than were expected")
        return f"phase {self.phase} of {self.name()}, in which {' and '.join(missing)}"


def table(gang: Gang) -> dict[tuple[int, int], Mbarrier]:
    """All mbarriers of the resident blocks, by buffer and position."""
    return gang.mbarriers


# ---- coming and going ----------------------------------------------------------------------------


def initialise(gang: Gang, pointer: Pointer, counts: Array, mask: Mask) -> None:
    """Make the 8 bytes behind each thread's pointer an mbarrier that expects `counts` arrivals."""
    buffer, clocks = pointer.buffer, gang.clocks
    for row, position in positions(gang, pointer, mask):
        count = int(counts[row])
        if not 0 < count <= MOST:
            misuse(gang, f"an mbarrier expects 1 to {MOST} arrivals, not {count}", row)
        if (id(buffer), position) in table(gang):
            misuse(
                gang,
                f"{table(gang)[id(buffer), position].name()} is initialised again",
                row,
                "invalidate it by mbarrier_inval first",
            )
        note_write(gang, buffer, np.array([position]), NBYTES, np.array([row]))
        seal(buffer, position, True)
        slot = int(gang.slot[row])
        key = ("mbarrier", id(buffer), position % buffer.stride, slot % gang.team.cluster)
        channel = clocks.channel(key)
        who = gang.who(np.array([row]))
        table(gang)[id(buffer), position] = Mbarrier(
            buffer, position, slot, channel, count, who, clocks.now, count
        )
    gang.run.progress += 1


def invalidate(gang: Gang, pointer: Pointer, mask: Mask) -> None:
    """The memory of each barrier may be used for something else."""
    for row, barrier in found(gang, pointer, mask):
        seal(barrier.buffer, barrier.position, False)
        del table(gang)[id(barrier.buffer), barrier.position]
        at = np.array([barrier.position])
        note_write(gang, barrier.buffer, at, NBYTES, np.array([row]))
        touched, _ = granules(barrier.buffer, at, NBYTES)
        if barrier.buffer.written is not None:
            barrier.buffer.written[touched] = False


def fence_initialisations(gang: Gang, mask: Mask) -> None:
    """What these threads initialised is visible to asynchronous operations and the cluster."""
    numbers = set(gang.number[mask].tolist())
    for barrier in table(gang).values():
        barrier.fenced |= int(barrier.initialiser.thread[0]) in numbers


def seal(buffer: Buffer, position: int, sealed: bool) -> None:
    """Forbid, or allow, ordinary accesses."""
    if buffer.shadow is not None:
        buffer.shadow.seal(granules(buffer, np.array([position]), NBYTES)[0], sealed)


# ---- arriving ------------------------------------------------------------------------------------


def arrive(
    gang: Gang, pointer: Pointer, counts: Array, expected: Array | None, mask: Mask
) -> Array:
    """Each thread arrives `counts` times, after expecting bytes; the phase each arrived in."""
    state = np.zeros(gang.count, np.uint64)
    gang.clocks.tick()
    for barrier, rows in grouped(gang, pointer, mask):
        tell(gang, barrier, rows)
        note_use(gang, barrier, rows)
        before = barrier.phase
        if expected is None and counts[rows].sum() == len(rows) <= barrier.pending:
            state[rows] = before
            arrive_once(gang, barrier, len(rows), int(rows[0]))
            continue
        for row in rows:
            if barrier.phase != before:
                misuse(
                    gang,
                    f"{len(rows)} threads arrive at {barrier.name()} at once: phase {before} is "
                    "complete before all of them have",
                    int(row),
                    "let as many threads arrive as mbarrier_init was told",
                )
            state[row] = barrier.phase
            if expected is not None:
                expect(gang, barrier, int(expected[row]), int(row))
            arrive_once(gang, barrier, int(counts[row]), int(row))
    gang.run.progress += 1
    return state


def arrive_once(gang: Gang, barrier: Mbarrier, count: int, row: int) -> None:
    """`count` arrivals of one thread."""
    if not 0 < count <= barrier.pending:
        misuse(
            gang,
            f"{count} arrivals at {barrier.name()}, where phase {barrier.phase} expects "
            f"{barrier.pending} more of {barrier.count}",
            row,
            "let as many threads arrive as mbarrier_init was told, each once in a phase",
        )
    barrier.pending -= count
    advance(gang, barrier)


def expect_bytes(gang: Gang, pointer: Pointer, nbytes: Array, mask: Mask) -> None:
    """The current phase completes only after that many more bytes."""
    for row, barrier in found(gang, pointer, mask):
        expect(gang, barrier, int(nbytes[row]), row)
        advance(gang, barrier)


def expect(gang: Gang, barrier: Mbarrier, nbytes: int, row: int) -> None:
    """One thread expects bytes."""
    if not 0 <= nbytes <= MOST or barrier.bytes + nbytes > MOST:
        misuse(gang, f"{barrier.name()} can expect {MOST} bytes, not {nbytes} more", row)
    barrier.bytes += nbytes


def complete_transaction(
    gang: Gang, row: int, slot: int, pointer: Pointer, nbytes: int, agent: Agent
) -> None:
    """An asynchronous operation has delivered bytes to the current phase of a block's barrier."""
    rows, buffer = np.array([row]), pointer.buffer
    (mine,) = addresses(gang, pointer, NBYTES, rows)
    position = int(mine) + (slot - int(gang.slot[row])) * buffer.stride
    barrier = usable(gang, buffer, position, rows)
    check_fence(gang, barrier, agent, row)
    note_use(gang, barrier, rows, agent)
    barrier.bytes -= nbytes
    if barrier.bytes < -MOST:
        misuse(gang, f"{barrier.name()} got {-barrier.bytes} bytes that nothing expects", row)
    seen = agent.clock[[ASYNC_SHARED, ASYNC_SHARED, ASYNC_GLOBAL]].copy()
    seen[GENERIC] = np.minimum(agent.clock[ASYNC_SHARED], agent.clock[ASYNC_GLOBAL])
    join(barrier, seen)
    barrier.completed.append(agent)
    advance(gang, barrier)
    gang.run.progress += 1


def complete_copies(gang: Gang, barrier: Mbarrier, agent: Agent, arriving: Array) -> None:
    """Copies of threads complete with the current phase; for `arriving` that is an arrival."""
    barrier.completed.append(agent)
    for row in arriving.tolist():
        arrive_once(gang, barrier, 1, row)
    gang.run.progress += 1


def check_fence(gang: Gang, barrier: Mbarrier, agent: Agent, row: int) -> None:
    """`MissingFence` if the asynchronous proxy does not see the initialisation."""
    who = gang.who(np.array([row]))
    who.agent, agent.space = agent, ASYNC_SHARED
    stamp = np.array([barrier.stamp])
    if barrier.fenced or gang.clocks.ordered(barrier.initialiser.thread, stamp, who)[0]:
        return
    gang.fault(
        MissingFence,
        f"a {agent.kind} completes at {barrier.name()}, whose initialisation it may not see",
        row,
        "after mbarrier_init, call fence_mbarrier_init() and then let the threads meet",
    )


def tell(gang: Gang, barrier: Mbarrier, rows: Array) -> None:
    """Those who arrive pass on what they know."""
    mask = np.zeros(gang.count, np.bool_)
    mask[rows] = True
    slots, actors, _ = gang.actors(mask)
    for slot, actor in zip(slots, actors, strict=True):
        join(barrier, gang.clocks.told(int(slot) // gang.team.cluster, int(actor)))


def join(barrier: Mbarrier, known: Array) -> None:
    """Enter what somebody knows into the current phase."""
    width = known.shape[1]
    have = barrier.told
    if have.shape[1] < width:
        have = barrier.told = np.pad(have, ((0, 0), (0, width - have.shape[1])))
    np.maximum(have[:, :width], known, out=have[:, :width])


def advance(gang: Gang, barrier: Mbarrier) -> None:
    """Complete the phase if nothing is missing."""
    if barrier.pending or barrier.bytes:
        return
    clocks, cluster = gang.clocks, barrier.slot // gang.team.cluster
    for agent in barrier.completed:
        for number in (agent.number, agent.number - 1):
            clocks.complete(number, barrier.channel, clocks.now)
    clocks.learn(cluster, barrier.channel, barrier.told)
    clocks.seen[:, cluster, barrier.channel, barrier.channel] = clocks.tick()
    barrier.phase += 1
    barrier.pending = barrier.count
    barrier.told, barrier.completed = np.zeros((3, 1), np.int64), []


# ---- waiting -------------------------------------------------------------------------------------


def test(gang: Gang, pointer: Pointer, parity: Array, by_state: bool, mask: Mask) -> Mask:
    """For each thread, whether the phase of that parity (or state) has completed.

    Those for whom it has see what led to all phases completed so far.
    """
    if pointer.block is not None:
        misuse(gang, "a thread can only wait at mbarriers of its own block", int(np.argmax(mask)))
    passed = np.zeros(gang.count, np.bool_)
    for barrier, rows in grouped(gang, pointer, mask):
        note_use(gang, barrier, rows)
        wanted = parity[rows].astype(np.int64)
        if by_state:
            through = wanted < barrier.phase
        else:
            if ((wanted < 0) | (wanted > 1)).any():
                misuse(
                    gang, "a parity is 0 or 1", int(rows[np.argmax((wanted < 0) | (wanted > 1))])
                )
            through = wanted != barrier.phase % 2
        passed[rows] = through
        if not through.all():
            gang.looked = barrier.state
        note_lapped(gang, barrier, rows, through)
        if through.any():
            learn(gang, barrier, rows[through])
    return passed


def note_lapped(gang: Gang, barrier: Mbarrier, rows: Array, through: Array) -> None:
    """`MbarrierMisuse` where a thread still looks for a phase that was followed by another."""
    if through.all() and not barrier.looking:
        return
    for row, ready in zip(rows.tolist(), through.tolist(), strict=True):
        number = int(gang.number[row])
        looked = barrier.looking.get(number)
        if looked is not None and barrier.phase >= looked + 2:
            misuse(
                gang,
                f"{barrier.name()} is in phase {barrier.phase} while a thread still waits for the "
                f"end of phase {looked}: it was lapped, and may wait for ever",
                row,
                "let nobody arrive for a later phase before all who wait for this one have seen it",
            )
        if ready:
            barrier.looking.pop(number, None)
        elif looked is None:
            barrier.looking[number] = barrier.phase


def learn(gang: Gang, barrier: Mbarrier, rows: Array) -> None:
    """These threads know what the completed phases tell."""
    mask = np.zeros(gang.count, np.bool_)
    mask[rows] = True
    slots, actors, _ = gang.actors(mask)
    known = gang.clocks.seen[:, barrier.slot // gang.team.cluster, barrier.channel].copy()
    for slot, actor in zip(slots, actors, strict=True):
        gang.clocks.learn(int(slot) // gang.team.cluster, int(actor), known)


def wait(gang: Gang, pointer: Pointer, parity: Array, by_state: bool, mask: Mask) -> Iterator[None]:
    """Wait until the phase of that parity (or state) has completed, for each thread."""
    left = mask & ~test(gang, pointer, parity, by_state, mask)
    if not left.any():
        return

    def missing() -> str:
        return " and ".join(barrier.state() for barrier, _ in grouped(gang, pointer, left))

    with gang.waiting(left, missing):
        while left.any():
            yield
            left &= ~test(gang, pointer, parity, by_state, left)


# ---- finding them --------------------------------------------------------------------------------


def positions(gang: Gang, pointer: Pointer, mask: Mask) -> list[tuple[int, int]]:
    """Each row of the mask, and the position of its barrier."""
    lanes = gang.lanes(mask)
    at = addresses(gang, pointer, NBYTES, lanes)
    return list(zip(np.arange(gang.count)[lanes].tolist(), at.tolist(), strict=True))


def grouped(gang: Gang, pointer: Pointer, mask: Mask) -> list[tuple[Mbarrier, Array]]:
    """Each barrier that the threads use, with their rows."""
    if not mask.any():
        return []
    lanes = gang.lanes(mask)
    at = addresses(gang, pointer, NBYTES, lanes)
    rows = np.arange(gang.count)[lanes]
    out = []
    for position in np.unique(at):
        some = rows[at == position]
        out.append((usable(gang, pointer.buffer, int(position), some), some))
    return out


def found(gang: Gang, pointer: Pointer, mask: Mask) -> list[tuple[int, Mbarrier]]:
    """Each row of the mask, and its barrier."""
    return [(int(row), b) for b, rows in grouped(gang, pointer, mask) for row in rows]


def usable(gang: Gang, buffer: Buffer, position: int, rows: Array) -> Mbarrier:
    """The barrier at a position, initialised before the threads use it."""
    barrier = table(gang).get((id(buffer), position))
    if barrier is None:
        name = buffer.at(position % buffer.stride)
        misuse(gang, f"{name} is used as an mbarrier before mbarrier_init", int(rows[0]))
    many = np.full(len(rows), barrier.initialiser.thread[0])
    fine = gang.clocks.ordered(many, np.full(len(rows), barrier.stamp), gang.who(rows))
    if not fine.all():
        unordered(gang, barrier, int(rows[np.argmin(fine)]))
    return barrier


def note_use(gang: Gang, barrier: Mbarrier, rows: Array, agent: Agent | None = None) -> None:
    """Using a barrier reads its memory: whoever takes it away has to come after that."""
    if barrier.buffer.shadow is not None:
        touched, each = granules(barrier.buffer, np.full(len(rows), barrier.position), NBYTES)
        barrier.buffer.shadow.readers.note(touched, gang.who(rows, each, agent), gang.clocks)


def unordered(gang: Gang, barrier: Mbarrier, row: int) -> NoReturn:
    """Raise the `Race` between a barrier's initialisation and its use."""
    place = gang.run.place(barrier.initialiser.site)
    where = f" at {place}" if place else ""
    message = f"{barrier.name()} is used, but nothing orders this after its initialisation{where}"
    gang.fault(Race, message, row, "let the threads meet at a barrier after mbarrier_init")
