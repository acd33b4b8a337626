"""cp.async: copies that are under way until their group is waited for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hidet.sim.access import addresses, granules, load, note_write
from hidet.sim.gang import Gang
from hidet.sim.memory import Pointer
from hidet.sim.values import Array, Mask, spread
from hidet.types import u8


@dataclass
class Copy:
    """One instruction's copies: for each thread `rows`, `data` bytes on their way to `at`."""

    target: Pointer
    rows: Array
    at: Array
    data: Array
    group: Array
    done: Array


@dataclass
class Pipe:
    """The unfinished copies of a gang, and how many groups each thread has committed."""

    groups: Array
    copies: list[Copy] = field(default_factory=list)


def pipe(gang: Gang) -> Pipe:
    """The gang's own."""
    found: Pipe = gang.residents.state.setdefault(
        ("copies", id(gang)), Pipe(np.zeros(gang.count, np.int64))
    )
    return found


def start(
    gang: Gang, target: Pointer, source: Pointer | None, nbytes: int, taken: Array, mask: Mask
) -> None:
    """Read the source now; the target is in flight, and may not be touched, until waited for."""
    data = np.zeros((gang.count, nbytes), np.uint8)
    for count in np.unique(taken[mask]):
        some = mask & (taken == count)
        if count > 0 and source is not None:
            found = load(gang, source, u8, int(count), some, nbytes)
            found = spread(found, gang.count, count > 1)
            data[some, : int(count)] = found[some].reshape(-1, int(count))
    lanes = gang.lanes(mask)
    at = addresses(gang, target, nbytes, lanes)
    note_write(gang, target.buffer, at, nbytes, lanes)
    touched, _ = granules(target.buffer, at, nbytes)
    if target.buffer.shadow is not None:
        target.buffer.shadow.launch(touched)
    rows = np.arange(gang.count)[lanes]
    flow = pipe(gang)
    done = np.zeros(len(rows), np.bool_)
    flow.copies.append(Copy(target, rows, at, data[lanes], flow.groups[rows].copy(), done))


def commit(gang: Gang, mask: Mask) -> None:
    """Close the current group of each thread."""
    pipe(gang).groups[mask] += 1


def wait(gang: Gang, mask: Mask, pending: int | None) -> None:
    """Finish all but the last `pending` committed groups of each thread; None: everything."""
    flow = pipe(gang)
    for copy in flow.copies:
        ready = mask[copy.rows] & ~copy.done
        if pending is not None:
            ready &= copy.group < flow.groups[copy.rows] - pending
        if ready.any():
            finish(gang, copy, ready)
    flow.copies = [copy for copy in flow.copies if not copy.done.all()]


def finish(gang: Gang, copy: Copy, ready: Array) -> None:
    """The bytes arrive, written by the thread that waited."""
    buffer, at, nbytes = copy.target.buffer, copy.at[ready], copy.data.shape[1]
    if buffer.shadow is not None:
        buffer.shadow.land(granules(buffer, at, nbytes)[0])
    note_write(gang, buffer, at, nbytes, copy.rows[ready])
    buffer.view(np.dtype(np.uint8))[at[:, None] + np.arange(nbytes)] = copy.data[ready]
    copy.done[ready] = True
