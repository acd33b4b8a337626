"""Accumulators of warpgroups are staged in shared memory and written by whole cache lines.

Each warp owns sixteen rows. It stores their elements, in the result's type, in its own part of
shared memory, sixty-four columns at a time, and writes rows of it: sixteen bytes for each lane, or
the alignment of rows, so that an epilogue reads and writes whole cache lines, whatever layout the
accumulators have. Parts of lines straight from registers take attention up to a fifth longer.
"""

from __future__ import annotations

from typing import Any

from hidet.lang import (
    Global,
    Int,
    Registers,
    Shared,
    address,
    part,
    record,
    register_tensor,
    static,
    unroll,
    vectorize,
)
from hidet.lang.cuda import stmatrix, syncwarp, threadIdx
from hidet.mapping import auto_map
from hidet.mapping.fragments import matrix_rows, mma_c
from hidet.schedules.contraction import Index
from hidet.schedules.cuda.warpgroups.tile_order import Tile
from hidet.target import WARP

ROWS, COLUMNS = 16, 64
"""What a warp writes at once."""
LANES = 8
"""Elements of a 16-byte access; so many between rows store_partials them in different banks."""


def staging_shape(warps: int) -> tuple[int, int, int]:
    """The shape in shared memory of the rows that warps are about to write."""
    return warps, ROWS, COLUMNS + LANES


@record
class StagedStore:
    """The result of warpgroups, and the shared memory in which it is staged."""

    columns: int
    """Those of a tile, of which a warpgroup has all."""
    lanes: int
    """Neighbours that a lane writes at once: as many as rows of the result are aligned to. Where
    that is one element, those of a warp still lie side by side."""
    staged: Shared
    c: Global

    @property
    def blocks(self) -> int:
        """Blocks of eight columns of accumulators that become sixteen columns of the result."""
        return 2

    def at(self, z: Any, i: Any, j: Any) -> Index:
        """The index in the result of row i and column j."""
        raise NotImplementedError

    def fill(
        self, held: Registers, number: int, block: int, accumulators: Registers, of: Any, lane: Int,
        own: Tile,
    ) -> None:  # fmt: skip
        """A part of kernels: a lane's four accumulators of a block of eight columns, one of those
        that become sixteen of the result, become elements in `held[2, 2, 2]`: of each eight columns
        of the result, two neighbours in each of two rows."""
        raise NotImplementedError

    @part
    def write(self, accumulators: Registers, of: Any, tile: Tile) -> None:
        """For warpgroups: a tile's accumulators are written; `of` is what else `fill` needs."""
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        own = Tile(tile.z, tile.top + warp * ROWS, tile.left)
        for piece in static(range(self.columns // COLUMNS)):
            self.stage(accumulators, of, lane, warp, own, piece)
            syncwarp()
            self.store(lane, warp, own, piece)
            syncwarp()

    @part
    def stage(
        self, accumulators: Registers, of: Any, lane: Int, warp: Int, own: Tile, piece: int
    ) -> None:
        """For warps: elements of some columns go to shared memory."""
        for step in static(range(COLUMNS // 8 // self.blocks)):
            held = register_tensor(self.c.dtype, (2, 2, 2))
            for number in static(range(self.blocks)):
                block = piece * (COLUMNS // 8) + step * self.blocks + number
                self.fill(held, number, block, accumulators, of, lane, own)
            self.place(held, lane, warp, step * 16)

    @part
    def place(self, held: Registers, lane: Int, warp: Int, first: int) -> None:
        """For warps: a lane's elements of the sixteen columns from the first on are stored."""
        if self.c.dtype.nbytes == 2:
            column = first + matrix_rows().task(lane, 0)[1]
            stmatrix(
                address(self.staged, warp, matrix_rows().task(lane, 0)[0], column),
                address(held, 0, 0, 0),
                4,
            )
        else:
            for number, half in static([(b, h) for b in range(2) for h in range(2)]):
                for pair in vectorize(2):
                    row, column = mma_c(ROWS, 16).task(lane, number, half, pair)
                    self.staged[warp, row, first + column] = held[number, half, pair]

    @part
    def store(self, lane: Int, warp: Int, own: Tile, piece: int) -> None:
        """For warps: staged rows are written to the result."""
        column = own.left + piece * COLUMNS
        lines = auto_map(ROWS, COLUMNS // self.lanes, workers=WARP)
        for step in unroll(lines.tasks_per_worker):
            i, j = lines.task(lane, step)[0], lines.task(lane, step)[1] * self.lanes
            for v in vectorize(self.lanes):
                # In one expression: an index with a name is computed by itself.
                self.c.put(
                    *self.at(own.z, own.top + i, column + j + v), self.staged[warp, i, j + v]
                )
