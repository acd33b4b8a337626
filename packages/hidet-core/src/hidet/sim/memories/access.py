"""Loads and stores of a SIMT group: every address checked, every access entered in the shadows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidet.ir.kernel import KernelKind
from hidet.sim.faults import (
    GUARD,
    ClusterMisuse,
    MbarrierMisuse,
    Misaligned,
    MissingWait,
    OutOfBounds,
    Race,
    Uninitialised,
    WriteToInput,
)
from hidet.sim.memories.conflicts import report_race
from hidet.sim.memories.dependents import check as check_pending
from hidet.sim.memories.release_acquire import pass_on
from hidet.sim.memories.traffic import measure
from hidet.sim.memory import Buffer, Pointer
from hidet.sim.order.actors import Agent
from hidet.sim.order.races import Conflict
from hidet.sim.threads.clusters import reached
from hidet.sim.threads.simt_group import SimtGroup, thread_name
from hidet.sim.values import Array, Mask, Value, every, rows, some, varies
from hidet.types import DType, Scope

WIDEST = 16
"""Bytes that one instruction moves at most; wider vectors are several accesses."""


def load(
    simt: SimtGroup, source: Pointer, of: DType, count: int, mask: Mask, align: int = 0
) -> Value:
    """`count` elements of type `of` for each row in the mask; zeros elsewhere.

    One scalar (or one vector) for all if all rows read one address of memory nobody writes.
    """
    buffer = source.buffer
    lanes = simt.lanes(mask)
    tracked = buffer.shadow is not None or buffer.scope is not Scope.GLOBAL
    at = addresses(simt, source, of.nbytes * count, lanes, align, spread=tracked)
    measure(simt, "load", buffer, at, of.nbytes * count, lanes, mask)
    check_read(simt, buffer, at, of.nbytes * count, lanes)
    elements = at // of.nbytes
    if count > 1:
        elements = elements[..., None] + np.arange(count)
    found = buffer.view(of.numpy)[elements]
    if isinstance(lanes, slice) or not varies(at):
        return found
    shape = (simt.count, count) if count > 1 else (simt.count,)
    out = np.zeros(shape, of.numpy)
    out[lanes] = found
    return out


def store(
    simt: SimtGroup,
    target: Pointer,
    of: DType,
    count: int,
    value: Value,
    mask: Mask,
    align: int = 0,
) -> None:
    """Write `count` elements of type `of` for each row in the mask."""
    buffer = target.buffer
    lanes = simt.lanes(mask)
    at = addresses(simt, target, of.nbytes * count, lanes, align)
    simt.run.progress += 1
    measure(simt, "store", buffer, at, of.nbytes * count, lanes, mask)
    given = rows(value, lanes, count > 1)
    elements = at // of.nbytes
    if count > 1:
        elements = elements[:, None] + np.arange(count)
    view = buffer.view(of.numpy)
    clash = note_write(simt, buffer, at, of.nbytes * count, lanes)
    view[elements] = given
    if clash is not None:
        check_agreement(simt, buffer, view, elements, given, at, lanes, clash)


def addresses(
    simt: SimtGroup, pointer: Pointer, width: int, lanes: Any, align: int = 0, spread: bool = True
) -> Array:
    """Byte positions in the buffer's data, one for each row in `lanes`, checked.

    They are multiples of `align` bytes, or of the width if that is 0 (of 16 bytes at most), but for
    vectors of CPUs.
    With `spread` False, a position that is the same for all rows stays one number.
    """
    buffer = pointer.buffer
    offset = rows(pointer.offset, lanes)
    check_bounds(simt, buffer, offset, width, lanes)
    if simt.run.kernel.kind is KernelKind.CPU:
        align = 1  # whose vectors may lie anywhere
    align = align or min(width & -width, WIDEST)
    wrong = offset % align != 0
    if some(wrong):
        row = bad_row(simt, wrong, lanes)
        simt.fault(
            Misaligned,
            f"{width} bytes at {buffer.at(at_row(offset, wrong))} are not aligned to {align}",
            row,
            "use fewer lanes, or make the offset a multiple of them",
        )
    base = instance(simt, buffer, lanes)
    if pointer.block is not None:
        base = elsewhere(simt, pointer, lanes)
    found = offset + base
    if spread and not varies(found):
        found = np.full(len(simt.number[lanes]), found)
    return np.asarray(found, np.int64)


def check_bounds(simt: SimtGroup, buffer: Buffer, offset: Value, width: int, lanes: Any) -> None:
    """`OutOfBounds` where an access leaves the buffer."""
    outside = (offset < 0) | (offset + width > buffer.size)
    if some(outside):
        worst = at_row(offset, outside)
        simt.fault(
            OutOfBounds,
            f"{buffer.scope} {buffer.name} has {buffer.size} bytes; "
            f"{width} are accessed at byte {worst}, {buffer.at(worst)}",
            bad_row(simt, outside, lanes),
            GUARD,
        )


def at_row(values: Value, bad: Value) -> int:
    """The value at the first row that is bad."""
    return int(values[np.argmax(bad)] if varies(values) else values)


def bad_row(simt: SimtGroup, bad: Value, lanes: Any) -> int:
    """The number of the first bad row, counted in the SIMT group."""
    return int(np.arange(simt.count)[lanes][int(np.argmax(bad)) if varies(bad) else 0])


def instance(simt: SimtGroup, buffer: Buffer, lanes: Any) -> Value:
    """Where the instance that each row sees begins."""
    if buffer.scope is Scope.GLOBAL:
        return 0
    if buffer.scope is Scope.SHARED:
        return simt.slot[lanes] * buffer.stride
    return simt.origin[buffer.level][lanes] * buffer.stride


def elsewhere(simt: SimtGroup, pointer: Pointer, lanes: Any) -> Array:
    """Where the instances begin that belong to other blocks of the cluster."""
    size = simt.team.cluster
    block = np.broadcast_to(rows(pointer.block, lanes), simt.slot[lanes].shape)
    bad = (block < 0) | (block >= size)
    if some(bad):
        row = bad_row(simt, bad, lanes)
        message = f"there is no block {at_row(block, bad)} in a cluster of {size}"
        simt.fault(ClusterMisuse, message, row)
    slots = simt.slot[lanes] // size * size + block
    reached(simt, slots, lanes)
    found: Array = slots * pointer.buffer.stride
    return found


def granules(buffer: Buffer, at: Array, width: int) -> tuple[Array, int]:
    """The granules that accesses of `width` bytes touch, and how many each."""
    first = at // buffer.granule
    each = -(-width // buffer.granule)
    if each == 1:
        return first, 1
    return (first[:, None] + np.arange(each)).reshape(-1), each


def check_read(
    simt: SimtGroup, buffer: Buffer, at: Array, width: int, lanes: Any, agent: Agent | None = None
) -> None:
    """`Uninitialised` or `Race` if the bytes read are undefined."""
    if buffer.pending is not None:
        check_pending(simt, buffer, at, width, lanes, writes=False)
    if buffer.shadow is None and buffer.written is None:
        return
    touched, each = granules(buffer, np.atleast_1d(at), width)
    if buffer.holds is not None:
        refuse_held(simt, buffer, touched, each, lanes, "read")
    if buffer.shadow is not None:
        refuse_sealed(simt, buffer, touched, each, lanes)
    check_written(simt, buffer, touched, each, lanes, "read")
    if buffer.shadow is not None:
        who = simt.who(lanes, each, agent)
        conflict = buffer.shadow.read(touched, who)
        if conflict is not None:
            report_race(simt, buffer, touched, who, conflict, "reads")


def check_written(
    simt: SimtGroup, buffer: Buffer, touched: Array, each: int, lanes: Any, verb: str
) -> None:
    """`Uninitialised` if nothing was written to the granules yet."""
    if buffer.written is None:
        return
    missing = ~buffer.written[touched]
    if some(missing):
        entry = int(np.argmax(missing))
        where = int(touched[entry]) * buffer.granule % buffer.stride
        simt.fault(
            Uninitialised,
            f"{buffer.scope} {buffer.at(where)} is {verb} before it is written",
            row_of(simt, entry // each, lanes),
        )


def note_write(
    simt: SimtGroup,
    buffer: Buffer,
    at: Array,
    width: int,
    lanes: Any,
    atomic: bool = False,
    agent: Agent | None = None,
) -> Array | None:
    """Enter a write in the shadows; which rows were overwritten by another in the same step."""
    if buffer.pending is not None:
        check_pending(simt, buffer, at, width, lanes, writes=True)
    if buffer.read_only:
        simt.fault(
            WriteToInput,
            f"{buffer.scope} {buffer.name} is written, and was given to be read only",
            row_of(simt, 0, lanes),
        )
    if buffer.shadow is None and buffer.written is None:
        return None
    touched, each = granules(buffer, at, width)
    if buffer.holds is not None:
        refuse_held(simt, buffer, touched, each, lanes, "written")
    if buffer.written is not None:
        buffer.written[touched] = True
    if buffer.shadow is None:
        return None
    refuse_sealed(simt, buffer, touched, each, lanes)
    who = simt.who(lanes, each, agent)
    conflict = buffer.shadow.write(touched, who, atomic) or under_copy(buffer, touched)
    if conflict is not None:
        report_race(simt, buffer, touched, who, conflict, "writes")
    if agent is not None:
        return None
    lost = buffer.shadow.disagree(touched, who)
    if not some(lost):
        return None
    return np.asarray(lost.reshape(-1, each).any(axis=1))


def under_copy(buffer: Buffer, touched: Array) -> Conflict | None:
    """The first write to what a copy under way may still read."""
    if buffer.copied:
        buffer.copied = [each for each in buffer.copied if not every(each.done)]
    for sources in buffer.copied:
        held = sources.among(touched)
        if some(held):
            return Conflict(int(np.argmax(held)), sources.number, 0, "reads")
    return None


def check_agreement(
    simt: SimtGroup,
    buffer: Buffer,
    view: Array,
    elements: Array,
    given: Value,
    at: Array,
    lanes: Any,
    clash: Array,
) -> None:
    """`Race` if two threads wrote different values to one element in one step."""
    same = (view[elements] == given) | ((view[elements] != view[elements]) & (given != given))
    differs = ~same.reshape(len(at), -1).all(axis=1)
    if not some(differs):
        return
    assert buffer.shadow is not None
    entry = int(np.argmax(differs))
    where = int(at[entry]) % buffer.stride
    last = int(buffer.shadow.writer[at[entry] // buffer.granule])
    simt.fault(
        Race,
        f"threads write different values to {buffer.scope} {buffer.at(where)} at once, among them "
        f"{thread_name(simt.run, simt.team, last)} and this one",
        row_of(simt, entry, lanes),
        help="let one thread of all blocks write it, or combine the values by an atomic",
    )


def refuse_sealed(simt: SimtGroup, buffer: Buffer, touched: Array, each: int, lanes: Any) -> None:
    """`MbarrierMisuse` if an mbarrier is in these bytes."""
    assert buffer.shadow is not None
    entry = buffer.shadow.barrier(touched)
    if entry is not None:
        where = int(touched[entry]) * buffer.granule % buffer.stride
        simt.fault(
            MbarrierMisuse,
            f"{buffer.scope} {buffer.at(where)} is an mbarrier, and is accessed as ordinary memory",
            row_of(simt, entry // each, lanes),
            "invalidate it by mbarrier_inval before the memory is used for something else",
        )


def refuse_held(
    simt: SimtGroup, buffer: Buffer, touched: Array, each: int, lanes: Any, verb: str
) -> None:
    """`MissingWait` if a wgmma that is under way holds these registers."""
    assert buffer.holds is not None
    entry = buffer.holds.touch(touched)
    if entry is not None:
        where = int(touched[entry]) * buffer.granule % buffer.stride
        started = simt.run.place(int(buffer.holds.site[touched[entry]]))
        at = f", started at {started}" if started else ""
        simt.fault(
            MissingWait,
            f"register {buffer.at(where)} is {verb} while a wgmma that uses it is under way{at}",
            row_of(simt, entry // each, lanes),
            "commit the wgmma to a group, and wait for the group",
        )


def row_of(simt: SimtGroup, entry: int, lanes: Any) -> int:
    """The number in the SIMT group of the `entry`-th row of `lanes`."""
    return int(np.arange(simt.count)[lanes][min(entry, len(simt.number[lanes]) - 1)])


def update(
    simt: SimtGroup,
    target: Pointer,
    of: DType,
    change: Callable[[Any, int], Any],
    mask: Mask,
    count: int = 1,
) -> Array:
    """Atomically replace the element of each row, one after the other; the old values.

    `change(old, row)` gives the new value. With a `count` of elements at once, each row has an
    array of them.
    """
    buffer = target.buffer
    lanes = simt.lanes(mask)
    width = of.nbytes * count
    at = addresses(simt, target, width, lanes)
    measure(simt, "update", buffer, at, width, lanes, mask)
    check_written(simt, buffer, *granules(buffer, at, width), lanes, "updated")
    note_write(simt, buffer, at, width, lanes, atomic=True)
    view = buffer.view(of.numpy)
    out = np.zeros(simt.count if count == 1 else (simt.count, count), of.numpy)
    rows_there = np.arange(simt.count)[lanes]
    pass_on(simt, buffer, mask, at, reads=True, writes=True)
    touched = at // of.nbytes if count == 1 else (at // of.nbytes)[:, None] + np.arange(count)
    before = view[touched]
    for row, element in zip(rows_there, at // of.nbytes, strict=True):
        place = element if count == 1 else slice(element, element + count)
        out[row] = view[place]
        view[place] = change(out[row], int(row))
    simt.run.progress += some(view[touched] != before)
    return out
