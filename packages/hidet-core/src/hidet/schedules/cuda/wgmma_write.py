"""What becomes of the sums of warpgroups: written through hooks, or kept for other blocks to add.

Each warp owns sixteen rows. It brings their elements, in the result's type, into its own part of
shared memory, sixty-four columns at a time, and writes rows of it: sixteen bytes for each lane, so
that an epilogue reads and writes whole lines, whatever layout the products have. For one that
computes with sums in float32 these are half as many columns in as much room.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type"
from hidet.lang import (
    ScriptFunction,
    address,
    cast,
    f32,
    register_tensor,
    script,
    static,
    unroll,
    vectorize,
)
from hidet.lang.cuda import stmatrix, syncwarp, threadIdx
from hidet.lang.memory import get
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.warpgroups import Warpgroups
from hidet.target import WARP, WARPGROUP
from hidet.types import DType, f16

ROWS, COLUMNS = 16, 64
"""What a warp writes at once."""
LANES = 8
"""Elements that a lane writes at once, 16 bytes of them."""


def staging_shape(warps: int, dtype: DType = f16) -> tuple[int, int, int]:
    """The shape in shared memory of what warps are about to write: 16 bytes between rows keep them
    in different banks."""
    return warps, ROWS, at_once(dtype) + 16 // dtype.nbytes


def at_once(dtype: DType) -> int:
    """How many columns of so many bytes there is room for."""
    return COLUMNS * f16.nbytes // dtype.nbytes


def biasing(p: Contraction, columns: int) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (bias, registers, z, top, left). What will be added to a
    thread's columns is under way."""

    @script
    def bring(bias, ahead, z, top, left):  # type: ignore[no-untyped-def]
        lane = threadIdx.x % WARP
        for block in static(range(columns // 8)):
            for pair in vectorize(2):
                at = (z, top, left + block * 8 + lane % 4 * 2 + pair)
                ahead[block, pair] = get(bias, *p.bias_at(*at))

    return bring


def writing(p: Contraction, columns: int, dtype: DType, early: bool = False) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (sums, staged, bias, c, z, top, left); `staged` is of
    `dtype`. `early`: the bias is in registers, as `biasing` brings it."""
    several = at_once(dtype)
    fill, empty = filling(p, dtype, early), emptying(p, several)

    @script
    def finish(sums, staged, bias, c, z, top, left):  # type: ignore[no-untyped-def]
        row = top + threadIdx.x // WARP * ROWS
        for part in static(range(columns // several)):
            fill(sums, staged, bias, part * several, z, row, left)
            syncwarp()
            empty(staged, c, z, row, left + part * several)
            syncwarp()

    return finish


def filling(p: Contraction, dtype: DType, early: bool) -> ScriptFunction:
    """A part of a kernel, for warps: (sums, staged, bias, first, z, row, left). The columns from
    the first on, with their bias."""
    pairs, wide = at_once(dtype) // 16, dtype is f32

    @script
    def fill(sums, staged, bias, first, z, row, left):  # type: ignore[no-untyped-def]
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        for number in static(range(pairs)):
            held = register_tensor(dtype, (2, 2, 2))
            for beside in static(range(2)):
                block = first // 8 + number * 2 + beside
                within = number * 16 + beside * 8 + lane % 4 * 2
                for pair in vectorize(2):
                    at = (z, row, left + block * 8 + lane % 4 * 2 + pair)
                    if p.bias is not None:
                        found = bias[block, pair] if early else get(bias, *p.bias_at(*at))
                        shift = cast(found, f32)
                    for half in static(range(2)):
                        total = sums[block * 4 + half * 2 + pair]
                        if p.bias is not None:
                            total += shift
                        if wide:
                            staged[warp, half * 8 + lane // 4, within + pair] = total
                        else:
                            held[beside, half, pair] = cast(total, dtype)
            if not wide:
                column = number * 16 + lane // 16 * 8
                stmatrix(address(staged, warp, lane % 16, column), address(held, 0, 0, 0), 4)

    return fill


def emptying(p: Contraction, several: int) -> ScriptFunction:
    """A part of a kernel, for warps: (staged, c, z, row, left). So many columns of their rows."""
    across = several // LANES

    @script
    def empty(staged, c, z, row, left):  # type: ignore[no-untyped-def]
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        for step in unroll(ROWS * across // WARP):
            i, j = step * (WARP // across) + lane // across, lane % across * LANES
            for v in vectorize(LANES):
                c.put(*p.c_at(z, row + i, left + j + v), staged[warp, i, j + v])

    return empty


def keeping(point: Warpgroups) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (sums, pile). The sums where others will add them up."""

    @script
    def keep(sums, pile):  # type: ignore[no-untyped-def]
        thread, part = threadIdx.x % WARPGROUP, threadIdx.x // WARPGROUP
        row = part * 64 + thread // WARP * ROWS + thread % WARP // 4
        for block, half in static([(b, h) for b in range(point.columns // 8) for h in range(2)]):
            for v in vectorize(2):
                column = block * 8 + thread % 4 * 2 + v
                pile[0, 0, row + half * 8, column] = sums[block * 4 + half * 2 + v]

    return keep
