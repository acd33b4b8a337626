"""The result of attention by warpgroups: whole lines of it, by way of shared memory.

Each warp brings its sixteen rows there, sixty-four columns at a time, as in `wgmma_write.py`:
pieces of lines straight from registers take up to a fifth longer of the whole kernel.
"""

from __future__ import annotations

from hidet.lang import (
    ScriptFunction,
    address,
    cast,
    register_tensor,
    script,
    select,
    static,
    unroll,
    vectorize,
)
from hidet.lang.cuda import stmatrix, syncwarp, threadIdx
from hidet.mapping.fragments import matrix_rows
from hidet.schedules.attention import Rows
from hidet.schedules.cuda.attention_groups import Groups
from hidet.schedules.cuda.wgmma_staging import COLUMNS, LANES, ROWS
from hidet.target import WARP


def writing(rows: Rows, point: Groups) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (sums, totals, staged, y, z, top)."""
    width, dtype, across = point.padded(rows)[1], rows.op.q.dtype, COLUMNS // LANES

    @script
    def stage(sums, totals, staged, part):  # type: ignore[no-untyped-def]
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        for number in static(range(COLUMNS // 16)):
            held = register_tensor(dtype, (2, 2, 2))
            for beside, half in static([(b, h) for b in range(2) for h in range(2)]):
                block = part * (COLUMNS // 8) + number * 2 + beside
                for pair in static(range(2)):
                    value = sums[0, block, half * 2 + pair] * totals[0, half]
                    held[beside, half, pair] = cast(value, dtype)
            column = number * 16 + matrix_rows().task(lane, 0)[1]
            stmatrix(
                address(staged, warp, matrix_rows().task(lane, 0)[0], column),
                address(held, 0, 0, 0),
                4,
            )

    @script
    def write(sums, totals, staged, y, z, top):  # type: ignore[no-untyped-def]
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        for half in static(range(2)):
            total = totals[0, half]
            # Compilers would divide again for each element.
            totals[0, half] = select(total == 0.0, 0.0, 1.0 / total)
        for part in static(range(width // COLUMNS)):
            stage(sums, totals, staged, part)
            syncwarp()
            for step in unroll(ROWS * across // WARP):
                i, j = step * (WARP // across) + lane // across, lane % across * LANES
                for v in vectorize(LANES):
                    at = rows.row_at(z, top + warp * ROWS + i, part * COLUMNS + j + v)
                    y.put(*at, staged[warp, i, j + v])
            syncwarp()

    return write
