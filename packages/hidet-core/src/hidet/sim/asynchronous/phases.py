"""Phases of mbarriers: arrivals and bytes that they expect, and threads that wait for their end.

A phase completes when no arrivals and no bytes are missing; whoever then finds that it has
completed knows what those who arrived knew, and sees what the operations in it wrote.
PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hidet.sim.asynchronous.mbarriers import MOST, Mbarrier, found, grouped, misuse, note_use
from hidet.sim.memory import Pointer
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Array, Mask

# ---- arriving -----------------------------------------------------------------------------------


def arrive(
    simt: SimtGroup, pointer: Pointer, counts: Array, expected: Array | None, mask: Mask
) -> Array:
    """Each thread arrives `counts` times, after expecting bytes; the phase each arrived in."""
    state = np.zeros(simt.count, np.uint64)
    simt.clocks.tick()
    for barrier, rows in grouped(simt, pointer, mask):
        tell(simt, barrier, rows)
        note_use(simt, barrier, rows)
        before = barrier.phase
        if expected is None and counts[rows].sum() == len(rows) <= barrier.pending:
            state[rows] = before
            arrive_once(simt, barrier, len(rows), int(rows[0]))
            continue
        for row in rows:
            if barrier.phase != before:
                misuse(
                    simt,
                    f"{len(rows)} threads arrive at {barrier.name()} at once: phase {before} is "
                    "complete before all of them have",
                    int(row),
                    "let as many threads arrive as mbarrier_init was told",
                )
            state[row] = barrier.phase
            if expected is not None:
                expect(simt, barrier, int(expected[row]), int(row))
            arrive_once(simt, barrier, int(counts[row]), int(row))
    simt.run.progress += 1
    return state


def arrive_once(simt: SimtGroup, barrier: Mbarrier, count: int, row: int) -> None:
    """`count` arrivals of one thread."""
    if not barrier.pending:
        what = "are missing" if barrier.bytes > 0 else "came that it does not expect"
        misuse(
            simt,
            f"a thread arrives at {barrier.name()}, where phase {barrier.phase} has all its "
            f"arrivals and is not complete: bytes {what}",
            row,
            simt.last_wait(row) or "wait for the end of a phase before arriving in the next one",
        )
    if not 0 < count <= barrier.pending:
        misuse(
            simt,
            f"{count} arrivals at {barrier.name()}, where phase {barrier.phase} expects "
            f"{barrier.pending} more of {barrier.count}",
            row,
            "let as many threads arrive as mbarrier_init was told, each once in a phase",
        )
    barrier.pending -= count
    advance(simt, barrier)


def expect_bytes(simt: SimtGroup, pointer: Pointer, nbytes: Array, mask: Mask) -> None:
    """The current phase completes only after that many more bytes."""
    for row, barrier in found(simt, pointer, mask):
        expect(simt, barrier, int(nbytes[row]), row)
        advance(simt, barrier)


def expect(simt: SimtGroup, barrier: Mbarrier, nbytes: int, row: int) -> None:
    """One thread expects bytes."""
    if not 0 <= nbytes <= MOST or barrier.bytes + nbytes > MOST:
        misuse(simt, f"{barrier.name()} can expect {MOST} bytes, not {nbytes} more", row)
    barrier.bytes += nbytes


def tell(simt: SimtGroup, barrier: Mbarrier, rows: Array) -> None:
    """Those who arrive pass on what they know."""
    mask = np.zeros(simt.count, np.bool_)
    mask[rows] = True
    slots, actors, _ = simt.actors(mask)
    for slot, actor in zip(slots, actors, strict=True):
        join(barrier, simt.clocks.published(int(slot) // simt.team.cluster, int(actor)))


def join(barrier: Mbarrier, known: Array) -> None:
    """Enter what somebody knows into the current phase."""
    width = known.shape[1]
    have = barrier.published
    if have.shape[1] < width:
        have = barrier.published = np.pad(have, ((0, 0), (0, width - have.shape[1])))
    np.maximum(have[:, :width], known, out=have[:, :width])


def advance(simt: SimtGroup, barrier: Mbarrier) -> None:
    """Complete the phase if nothing is missing."""
    if barrier.pending or barrier.bytes:
        return
    clocks, cluster = simt.clocks, barrier.slot // simt.team.cluster
    for agent in barrier.completed:
        for number in (agent.number, agent.number - 1):
            clocks.complete(number, barrier.channel, clocks.now)
    clocks.learn(cluster, barrier.channel, barrier.published)
    clocks.seen[:, cluster, barrier.channel, barrier.channel] = clocks.tick()
    barrier.phase += 1
    barrier.pending = barrier.count
    barrier.published, barrier.completed = np.zeros((3, 1), np.int64), []


# ---- waiting ------------------------------------------------------------------------------------


def test(simt: SimtGroup, pointer: Pointer, parity: Array, by_state: bool, mask: Mask) -> Mask:
    """For each thread, whether the phase of that parity (or state) has completed.

    Those for whom it has see what led to all phases completed so far.
    """
    if pointer.block is not None:
        misuse(simt, "a thread can only wait at mbarriers of its own block", int(np.argmax(mask)))
    passed = np.zeros(simt.count, np.bool_)
    for barrier, rows in grouped(simt, pointer, mask):
        note_use(simt, barrier, rows)
        wanted = parity[rows].astype(np.int64)
        if by_state:
            through = wanted < barrier.phase
        else:
            if ((wanted < 0) | (wanted > 1)).any():
                misuse(
                    simt, "a parity is 0 or 1", int(rows[np.argmax((wanted < 0) | (wanted > 1))])
                )
            through = wanted != barrier.phase % 2
        passed[rows] = through
        if not through.all():
            simt.looked = barrier.state
        note_lapped(simt, barrier, rows, through)
        if through.any():
            learn(simt, barrier, rows[through])
            simt.passed[rows[through]] = simt.site
    return passed


def note_lapped(simt: SimtGroup, barrier: Mbarrier, rows: Array, through: Array) -> None:
    """`MbarrierMisuse` where a thread still looks for a phase that was followed by another."""
    if through.all() and not barrier.looking:
        return
    for row, ready in zip(rows.tolist(), through.tolist(), strict=True):
        number = int(simt.number[row])
        looked = barrier.looking.get(number)
        if looked is not None and barrier.phase >= looked + 2:
            misuse(
                simt,
                f"{barrier.name()} is in phase {barrier.phase} while a thread still waits for the "
                f"end of phase {looked}: it was lapped, and may wait for ever",
                row,
                "let nobody arrive for a later phase before all who wait for this one have seen it",
            )
        if ready:
            barrier.looking.pop(number, None)
        elif looked is None:
            barrier.looking[number] = barrier.phase


def learn(simt: SimtGroup, barrier: Mbarrier, rows: Array) -> None:
    """These threads know what the completed phases tell."""
    mask = np.zeros(simt.count, np.bool_)
    mask[rows] = True
    slots, actors, _ = simt.actors(mask)
    known = simt.clocks.seen[:, barrier.slot // simt.team.cluster, barrier.channel].copy()
    for slot, actor in zip(slots, actors, strict=True):
        simt.clocks.learn(int(slot) // simt.team.cluster, int(actor), known)


def wait(
    simt: SimtGroup, pointer: Pointer, parity: Array, by_state: bool, mask: Mask
) -> Iterator[None]:
    """Wait until the phase of that parity (or state) has completed, for each thread."""
    left = mask & ~test(simt, pointer, parity, by_state, mask)
    if not left.any():
        return

    def missing() -> str:
        return " and ".join(barrier.state() for barrier, _ in grouped(simt, pointer, left))

    with simt.waiting(left, missing):
        while left.any():
            seen = [(b, b.phase) for b, _ in grouped(simt, pointer, left)]
            while all(each.phase == phase and not each.gone for each, phase in seen):
                yield
            left &= ~test(simt, pointer, parity, by_state, left)
