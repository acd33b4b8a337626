"""What becomes of the sums of warpgroups: written through hooks, or kept for other blocks to add.

Each warp owns sixteen rows. It brings their elements, in the result's type, into its own part of
shared memory, sixty-four columns at a time, and writes rows of it: sixteen bytes for each lane, or
what rows begin at multiples of, so that an epilogue reads and writes whole lines, whatever layout
the products have.
"""

from __future__ import annotations

from math import gcd
from typing import Any

from hidet.lang import (
    ScriptFunction,
    address,
    cast,
    register_tensor,
    script,
    static,
    unroll,
    vectorize,
)
from hidet.lang.cuda import stmatrix, syncwarp, threadIdx
from hidet.lang.memory import get, settle
from hidet.mapping.fragments import matrix_rows, mma_c, wgmma_c
from hidet.schedules.base import After
from hidet.schedules.contraction import Contraction, Index
from hidet.schedules.cuda.warpgroups import Warpgroups, sum_type
from hidet.schedules.cuda.wgmma_pairs import staging_pairs, storing_pairs
from hidet.schedules.cuda.wgmma_staging import COLUMNS, LANES, ROWS
from hidet.target import WARP, WARPGROUP
from hidet.types import DType


def biasing(p: Contraction, columns: int) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (bias, registers, z, top, left). What will be added to a
    thread's columns is under way."""

    own = mma_c(ROWS, columns)

    @script
    def bring(bias, ahead, z, top, left):  # type: ignore[no-untyped-def]
        lane = threadIdx.x % WARP
        for block in static(range(columns // 8)):
            for pair in vectorize(2):
                _, column = own.task(lane, block, 0, pair)
                ahead[block, pair] = get(bias, *p.bias_at(z, top, left + column))

    return bring


def writing(
    p: Contraction, columns: int, early: bool = False, after: After | None = None
) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (sums, staged, bias, c, z, top, left); `early`: the bias
    is in registers, as `biasing` brings it. What comes `after` is computed on sums in float32."""
    if after is not None and after.pairs:
        stage, store = staging_pairs(p, early), storing_pairs(p)
    else:
        stage, store = staging(p, early, after), storing(p)

    @script
    def finish(sums, staged, bias, c, z, top, left):  # type: ignore[no-untyped-def]
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        row = top + warp * ROWS
        for part in static(range(columns // COLUMNS)):
            stage(sums, staged, bias, c, lane, warp, part, z, row, left)
            syncwarp()
            store(staged, c, lane, warp, z, row, left + part * COLUMNS)
            syncwarp()

    return finish


def staging(p: Contraction, early: bool, after: After | None) -> ScriptFunction:
    """A part of a kernel, for warps: (sums, staged, bias, c, lane, warp, part, z, row, left). What
    becomes of some columns of sums lies where it can be written by rows."""

    wide, place, own = sum_type(p), placing(p.c.dtype), mma_c(ROWS, COLUMNS)

    def made(c: Any, at: Index, total: Any) -> Any:
        return cast(total, p.c.dtype) if after is None else settle(c, p.c_at(*at), total)

    @script
    def stage(sums, staged, bias, c, lane, warp, part, z, row, left):  # type: ignore[no-untyped-def]
        for number in static(range(COLUMNS // 16)):
            held = register_tensor(p.c.dtype, (2, 2, 2))
            for beside in static(range(2)):
                block = part * (COLUMNS // 8) + number * 2 + beside
                for pair in vectorize(2):
                    at = (z, row + own.task(lane, 0)[0], left + own.task(lane, block, 0, pair)[1])
                    if p.bias is not None:
                        found = bias[block, pair] if early else get(bias, *p.bias_at(*at))
                        shift = cast(found, wide)
                    for half in static(range(2)):
                        total = sums[block * 4 + half * 2 + pair]
                        if p.bias is not None:
                            total += shift
                        held[beside, half, pair] = made(c, (z, at[1] + half * 8, at[2]), total)
            place(held, staged, lane, warp, number * 16)

    return stage


def placing(of: DType) -> ScriptFunction:
    """A part of a kernel, for warps: (held, staged, lane, warp, first). What a lane has of sixteen
    columns, from the first on, goes where those of its rows lie side by side."""

    own = mma_c(ROWS, 16)

    @script
    def place(held, staged, lane, warp, first):  # type: ignore[no-untyped-def]
        if of.nbytes == 2:
            column = first + matrix_rows().task(lane, 0)[1]
            stmatrix(
                address(staged, warp, matrix_rows().task(lane, 0)[0], column),
                address(held, 0, 0, 0),
                4,
            )
        else:
            for beside, half in static([(b, h) for b in range(2) for h in range(2)]):
                for pair in vectorize(2):
                    row, column = own.task(lane, beside, half, pair)
                    staged[warp, row, first + column] = held[beside, half, pair]

    return place


def storing(p: Contraction) -> ScriptFunction:
    """A part of a kernel, for warps: (staged, c, lane, warp, z, row, column). Rows are written
    from there on."""
    lanes = beside(p)
    across = COLUMNS // lanes

    @script
    def store(staged, c, lane, warp, z, row, column):  # type: ignore[no-untyped-def]
        for step in unroll(ROWS * across // WARP):
            i, j = (step * WARP + lane) // across, (step * WARP + lane) % across * lanes
            for v in vectorize(lanes):
                c.put(*p.c_at(z, row + i, column + j + v), staged[warp, i, j + v])

    return store


def beside(p: Contraction) -> int:
    """Neighbours that a lane writes: as many as one access takes wherever a row of the result
    begins. Where that is one element, those of a warp still lie side by side."""
    return gcd(p.n, LANES) if isinstance(p.n, int) else LANES


def keeping(point: Warpgroups) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (sums, pile). The sums where others will add them up."""

    own = wgmma_c(point.columns)

    @script
    def keep(sums, pile):  # type: ignore[no-untyped-def]
        thread, part = threadIdx.x % WARPGROUP, threadIdx.x // WARPGROUP
        row = part * 64 + own.task(thread, 0)[0]
        for block, half in static([(b, h) for b in range(point.columns // 8) for h in range(2)]):
            for v in vectorize(2):
                (down, _), (_, column) = (
                    own.task(0, block, half, 0),
                    own.task(thread, block, half, v),
                )
                pile[0, 0, row + down, column] = sums[block * 4 + half * 2 + v]

    return keep
