"""What accesses cost: sectors of global memory, conflicts between banks of shared memory.

Each warp's access is counted as the hardware would serve it: global memory in sectors of 32 bytes,
shared memory in 32 banks of 4 bytes, where lanes take turns that want different words of one bank.
Wider accesses of shared memory are served a half (8 bytes) or a quarter (16 bytes) of a warp at
once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hidet.sim.memory import Buffer
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Array, Mask
from hidet.target import WARP
from hidet.types import Scope

SECTOR = 32
BANKS = 32
WORD = 4
NONE = np.int64(-1)
PATTERNS = 1024
"""Patterns of addresses that are remembered at most."""
LONGEST = 4096
"""Threads in a pattern that is remembered."""


def measure(
    simt: SimtGroup, verb: str, buffer: Buffer, at: Array, width: int, lanes: Any, mask: Mask
) -> None:
    """Enter an access of `width` bytes by the rows `lanes` at positions `at` in the report."""
    threads = int(np.count_nonzero(mask))
    report = simt.run.report
    report.executed[f"{verb} {buffer.scope}"] += threads
    if buffer.scope is Scope.REGISTER or not report.measures or simt.run.kernel.kind == "cpu":
        return
    entry = report.access(simt.run.kernel.name, simt.site, simt.run.place(simt.site), verb, buffer)
    warps = active_warps(simt, mask)
    entry.warps += warps
    entry.threads += threads
    entry.nbytes += threads * width
    if np.ndim(at) == 0 or warps == 0:  # one address for all
        each = -(-width // (SECTOR if buffer.scope is Scope.GLOBAL else BANKS * WORD))
        entry.served += warps * each
        entry.least += warps * each
        return
    served, least = cost(simt, buffer.scope, at, width, lanes)
    entry.served += served
    entry.least += least


def cost(simt: SimtGroup, scope: Scope, at: Array, width: int, lanes: Any) -> tuple[int, int]:
    """How much service an access takes, and the least that it could take.

    Kernels repeat their patterns of addresses, each time shifted by whole sectors or banks.
    """
    known = simt.run.report.patterns
    shift = SECTOR if scope is Scope.GLOBAL else WORD
    pattern = at - at.min() // shift * shift
    who = simt.count if isinstance(lanes, slice) else lanes.tobytes()
    key = scope, width, who, pattern.tobytes()
    found = known.get(key)
    if found is None:
        by_warp = np.full(simt.count, NONE)
        by_warp[lanes] = pattern
        rows = by_warp.reshape(-1, WARP)
        if scope is Scope.GLOBAL:
            found = sectors(rows, width), sum_least(rows, width)
        else:
            found = wavefronts(rows, width)
        if len(known) < PATTERNS and at.size <= LONGEST:
            known[key] = found
    return found


def active_warps(simt: SimtGroup, mask: Mask) -> int:
    """How many warps have a thread in the mask."""
    if mask is simt.everyone:
        return simt.count // WARP
    return int(np.count_nonzero(mask.reshape(-1, WARP).any(axis=1)))


def sectors(rows: Array, width: int) -> int:
    """Different sectors that each warp touches, summed."""
    first = np.where(rows >= 0, rows // SECTOR, NONE)
    if width > SECTOR:
        first = spread(first, -(-width // SECTOR))
    return int(distinct(first).sum())


def sum_least(rows: Array, width: int) -> int:
    """Sectors that would do if each warp's bytes lay side by side; threads may share bytes."""
    places = distinct(np.where(rows >= 0, rows, NONE))
    return int((-(-places * width // SECTOR)).sum())


def distinct(rows: Array) -> Array:
    """How many different numbers each row holds; a negative one, nobody's, counts for nothing."""
    if (rows[:, 1:] < rows[:, :-1]).any():
        rows = np.sort(rows, axis=1)
    new = rows[:, 1:] != rows[:, :-1]
    found: Array = new.sum(axis=1) + (rows[:, 0] >= 0)
    return found


def spread(rows: Array, each: int) -> Array:
    """Each number and those that follow it; negative ones stay."""
    wide = rows[:, :, None] + np.arange(each)
    return np.where(rows[:, :, None] >= 0, wide, NONE).reshape(len(rows), -1)


def wavefronts(rows: Array, width: int) -> tuple[int, int]:
    """Wavefronts that the banks take for each warp's access, summed, and how few there could be."""
    words = max(1, width // WORD)
    at_once = WARP // min(words, WARP)
    groups = np.where(rows >= 0, rows // WORD, NONE).reshape(-1, at_once)
    groups = groups[(groups >= 0).any(axis=1)]
    if words > 1:
        groups = spread(groups, words)
    ordered = np.sort(groups, axis=1)
    counts = ordered >= 0
    counts[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    row, column = np.nonzero(counts)
    banks = np.bincount(row * BANKS + ordered[row, column] % BANKS, minlength=len(ordered) * BANKS)
    return int(banks.reshape(-1, BANKS).max(axis=1).sum()), len(ordered)
