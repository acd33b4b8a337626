"""Kernels that begin before the ones they depend on have ended: programmatic dependent launch.

A launch is a dependent one if its kernel waits for the grids before (`griddepcontrol_wait`), or if
the kernel before lets it begin early (`griddepcontrol_launch_dependents`). Until a thread has
waited, or is ordered after one that has, what earlier kernels write is not there yet, and what they
read may not be overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Invoke
from hidet.ir.walk import find
from hidet.sim.faults import MissingGridWait
from hidet.sim.memory import Buffer
from hidet.sim.order.actors import NOBODY, Who
from hidet.sim.threads.simt_group import Run, SimtGroup
from hidet.sim.values import Array, Mask

WRITTEN, READ = np.uint8(1), np.uint8(2)


def invokes(kernel: Kernel, name: str) -> bool:
    """Whether the kernel calls the intrinsic."""
    return any(each.name == name for each in find(kernel.body, Invoke))


def depends(kernel: Kernel, before: Kernel | None) -> bool:
    """Whether a launch of the kernel may begin before that of `before` has ended."""
    if before is None or before.kind is not KernelKind.CUDA or kernel.kind is not KernelKind.CUDA:
        return False
    signals = invokes(before, "griddepcontrol_launch_dependents")
    return signals or invokes(kernel, "griddepcontrol_wait")


def begin(buffers: Iterable[Buffer], dependent: bool, before: Run | None) -> None:
    """Mark what is pending at the start of a launch: what the one before has touched, or nothing.

    Marks of still earlier launches stay if that one let this one begin before it had waited.
    """
    complete = before is None or waited_first(before)
    for buffer in buffers:
        if not dependent:
            buffer.pending = None
            continue
        new = touched(buffer)
        if buffer.pending is not None and not complete and new is not None:
            new = new | buffer.pending
        buffer.pending = buffer.pending if new is None and not complete else new


def hold(buffer: Buffer, granule: int) -> None:
    """Let a buffer be in the hands of launches before this one until it has waited for them."""
    buffer.granule = granule
    buffer.pending = np.full(-(-buffer.data.size // granule), WRITTEN | READ)


def waited_first(run: Run) -> bool:
    """Whether every block of a launch waited for earlier ones before its dependents could begin."""
    blocks = run.grid[0] * run.grid[1] * run.grid[2]
    return not run.dependency.early and len(run.dependency.waiters) == blocks


def touched(buffer: Buffer) -> Array | None:
    """Marks of what the launch that just ended read and wrote; None if it had not the buffer."""
    shadow = buffer.shadow
    if shadow is None:
        marks = np.zeros(-(-buffer.data.size // max(buffer.granule, 1)), np.uint8)
        marks[:] = READ
        return marks if buffer.used else None
    marks = np.where(shadow.writer != NOBODY, WRITTEN, np.uint8(0))
    readers: Any = shadow.readers
    return np.asarray(marks | np.where(readers.thread != NOBODY, READ, np.uint8(0)))


def wait(simt: SimtGroup, mask: Mask) -> None:
    """These threads have waited for the launches before."""
    waited(simt)[mask] = True
    known = simt.run.dependency.waiters
    numbers = simt.number[mask]
    firsts = np.unique(numbers // simt.team.warp, return_index=True)[1]
    for number in numbers[firsts]:
        block = int(number) // simt.team.threads
        known.setdefault(block, []).append((int(number), simt.clocks.now))
    simt.run.progress += 1


def signal(simt: SimtGroup, mask: Mask) -> None:
    """These threads let the launches after begin."""
    blocks = np.unique(simt.number[mask] // simt.team.threads)
    if any(int(block) not in simt.run.dependency.waiters for block in blocks):
        simt.run.dependency.early = True


def waited(simt: SimtGroup) -> Mask:
    """Which threads of the SIMT group have waited themselves."""
    found: Mask = simt.state.setdefault("grid wait", np.zeros(simt.count, np.bool_))
    return found


def check(simt: SimtGroup, buffer: Buffer, at: Array, width: int, lanes: Any, writes: bool) -> None:
    """`MissingGridWait` where a thread that has not waited touches what is pending."""
    assert buffer.pending is not None
    each = -(-width // buffer.granule)
    places = (np.atleast_1d(at) // buffer.granule)[:, None] + np.arange(each)
    marks = buffer.pending[places] & (WRITTEN | READ if writes else WRITTEN)
    bad = marks.any(axis=1)
    if not bad.any():
        return
    bad = np.broadcast_to(bad, (len(simt.number[lanes]),)) & ~waited(simt)[lanes]
    for entry in np.flatnonzero(bad):
        row = int(np.arange(simt.count)[lanes][int(entry)])
        if after_waiter(simt, row):
            continue
        offset = int(np.atleast_1d(at)[min(int(entry), np.size(at) - 1)])
        verb = "is written" if writes else "is read"
        simt.fault(
            MissingGridWait,
            f"{buffer.scope} {buffer.at(offset)} {verb} before griddepcontrol_wait, while the "
            "kernel before this one may still be running",
            row,
            "call griddepcontrol_wait() before the first access to what earlier kernels touch",
        )


def after_waiter(simt: SimtGroup, row: int) -> bool:
    """Whether a thread is ordered after one of its block that has waited."""
    number = int(simt.number[row])
    found = simt.run.dependency.waiters.get(number // simt.team.threads, [])
    if not found:
        return False
    other, stamp = (np.array(each) for each in zip(*found, strict=True))
    count = np.ones(len(found), np.int64)
    who = Who(count * number, count * simt.slot[row], count * simt.warp[row], simt.site)
    return bool(simt.clocks.ordered(other, stamp, who).any())
