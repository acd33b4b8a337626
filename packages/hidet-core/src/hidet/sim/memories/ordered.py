"""Atomic loads and stores: what may be read and written by several threads at the same time."""

from __future__ import annotations

import numpy as np

from hidet.sim.faults import Race, Uninitialised
from hidet.sim.memories.access import addresses, granules, note_write, refuse_sealed, row_of
from hidet.sim.memories.conflicts import report_race
from hidet.sim.memories.dependents import check as check_pending
from hidet.sim.memories.release_acquire import pass_on
from hidet.sim.memories.traffic import measure
from hidet.sim.memory import Pointer
from hidet.sim.order.actors import NOBODY
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Array, Mask
from hidet.types import DType


def load_atomic(simt: SimtGroup, source: Pointer, of: DType, count: int, mask: Mask) -> Array:
    """`count` elements for each row in the mask, a row for each; zeros elsewhere.

    It races with plain writes, not with atomic ones, and is not noted as a read.
    """
    buffer, width = source.buffer, of.nbytes * count
    lanes = simt.lanes(mask)
    at = addresses(simt, source, width, lanes)
    measure(simt, "load", buffer, at, width, lanes, mask)
    if buffer.pending is not None:
        check_pending(simt, buffer, at, width, lanes, writes=False)
    touched, each = granules(buffer, at, width)
    if buffer.written is not None and not buffer.written[touched].all():
        row = row_of(simt, int(np.argmin(buffer.written[touched])) // each, lanes)
        simt.fault(Uninitialised, f"{buffer.scope} {buffer.name} is read before it is written", row)
    if buffer.shadow is not None:
        refuse_sealed(simt, buffer, touched, each, lanes)
        who = simt.who(lanes, each)
        conflict = buffer.shadow.after_write(touched, who, "wrote", atomic=True)
        if conflict is not None and buffer.shadow.touched:
            report_race(simt, buffer, touched, who, conflict, "reads")
    pass_on(simt, buffer, mask, at, reads=True, writes=False)
    out = np.zeros((simt.count, count), of.numpy)
    out[lanes] = buffer.view(of.numpy)[(at // of.nbytes)[:, None] + np.arange(count)]
    return out


def store_atomic(simt: SimtGroup, target: Pointer, of: DType, values: Array, mask: Mask) -> None:
    """Write each row's elements; it races with plain accesses, not with atomic ones."""
    buffer, count = target.buffer, values.shape[1]
    width = of.nbytes * count
    lanes = simt.lanes(mask)
    at = addresses(simt, target, width, lanes)
    measure(simt, "store", buffer, at, width, lanes, mask)
    note_write(simt, buffer, at, width, lanes, atomic=True)
    pass_on(simt, buffer, mask, at, reads=False, writes=True)
    view = buffer.view(of.numpy)
    view[(at // of.nbytes)[:, None] + np.arange(count)] = values[lanes]
    simt.run.progress += 1


def refuse_written(simt: SimtGroup, source: Pointer, width: int, mask: Mask) -> None:
    """`Race` where the launch has written what it reads as constant memory."""
    buffer = source.buffer
    if buffer.shadow is None:
        return
    lanes = simt.lanes(mask)
    touched, each = granules(buffer, addresses(simt, source, width, lanes), width)
    written = buffer.shadow.writer[touched] != NOBODY
    if written.any():
        entry = int(np.argmax(written))
        place = int(touched[entry]) * buffer.granule
        simt.fault(
            Race,
            f"{buffer.scope} {buffer.at(place)} is read as constant, and this kernel wrote it",
            row_of(simt, entry // each, lanes),
            "load it without constant=True",
        )
