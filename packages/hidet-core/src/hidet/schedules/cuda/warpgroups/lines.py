"""Sums of warpgroups are written by whole lines, by way of shared memory.

Each warp owns sixteen rows. It brings their elements, in the result's type, into its own part of
shared memory, sixty-four columns at a time, and writes rows of it: sixteen bytes for each lane, or
what rows begin at multiples of, so that an epilogue reads and writes whole lines, whatever layout
the products have. Pieces of lines straight from registers take attention up to a fifth longer.
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
"""Elements of a 16-byte access; so many between rows keep them in different banks."""


def staging_shape(warps: int) -> tuple[int, int, int]:
    """The shape in shared memory of what warps are about to write."""
    return warps, ROWS, COLUMNS + LANES


@record
class Lines:
    """The result of warpgroups, and the shared memory by way of which it is written."""

    columns: int
    """Those of a tile, of which a warpgroup has all."""
    lanes: int
    """Neighbours that a lane writes: as many as one access takes wherever a row of the result
    begins. Where that is one element, those of a warp still lie side by side."""
    staged: Shared
    c: Global

    def at(self, z: Any, i: Any, j: Any) -> Index:
        """The index in the result of row i and column j."""
        raise NotImplementedError

    def fill(
        self,
        held: Registers,
        beside: int,
        block: int,
        sums: Registers,
        of: Any,
        lane: Int,
        own: Tile,
    ) -> None:
        """A part of kernels: what becomes of a lane's four sums of a block of eight columns."""
        raise NotImplementedError

    @part
    def write(self, sums: Registers, of: Any, tile: Tile) -> None:
        """For warpgroups: a tile's sums, with what belongs to its rows or columns."""
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        own = Tile(tile.z, tile.top + warp * ROWS, tile.left)
        for piece in static(range(self.columns // COLUMNS)):
            self.stage(sums, of, lane, warp, own, piece)
            syncwarp()
            self.store(lane, warp, own, piece)
            syncwarp()

    @part
    def stage(self, sums: Registers, of: Any, lane: Int, warp: Int, own: Tile, piece: int) -> None:
        """For warps: what becomes of some columns of sums lies where it can be written by rows."""
        for number in static(range(COLUMNS // 16)):
            held = register_tensor(self.c.dtype, (2, 2, 2))
            for beside in static(range(2)):
                block = piece * (COLUMNS // 8) + number * 2 + beside
                self.fill(held, beside, block, sums, of, lane, own)
            self.place(held, lane, warp, number * 16)

    @part
    def place(self, held: Registers, lane: Int, warp: Int, first: int) -> None:
        """For warps: what a lane has of sixteen columns, from the first on, goes where those of its
        rows lie side by side."""
        if self.c.dtype.nbytes == 2:
            column = first + matrix_rows().task(lane, 0)[1]
            stmatrix(
                address(self.staged, warp, matrix_rows().task(lane, 0)[0], column),
                address(held, 0, 0, 0),
                4,
            )
        else:
            for beside, half in static([(b, h) for b in range(2) for h in range(2)]):
                for pair in vectorize(2):
                    row, column = mma_c(ROWS, 16).task(lane, beside, half, pair)
                    self.staged[warp, row, first + column] = held[beside, half, pair]

    @part
    def store(self, lane: Int, warp: Int, own: Tile, piece: int) -> None:
        """For warps: rows are written."""
        column = own.left + piece * COLUMNS
        lines = auto_map(ROWS, COLUMNS // self.lanes, workers=WARP)
        for step in unroll(lines.tasks_per_worker):
            i, j = lines.task(lane, step)[0], lines.task(lane, step)[1] * self.lanes
            for v in vectorize(self.lanes):
                # In one expression: an index with a name is computed by itself.
                self.c.put(
                    *self.at(own.z, own.top + i, column + j + v), self.staged[warp, i, j + v]
                )
