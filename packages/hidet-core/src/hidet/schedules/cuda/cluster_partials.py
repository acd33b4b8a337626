"""Split-K partials of the blocks of a cluster, added up in distributed shared memory.

Each block has partial results of a whole tile over its split of k, or several of them. Each adds
up a part of the tile, reading all blocks in the same order: the result does not depend on which
block finishes first.
"""

from __future__ import annotations

from hidet.lang import (
    Int,
    Registers,
    Shared,
    address,
    grid,
    part,
    record,
    register_tensor,
    unroll,
    vectorize,
)
from hidet.lang.cuda import mapa, threadIdx
from hidet.schedules.cuda.epilogue import Epilogue
from hidet.target import ACCESS_BYTES
from hidet.types import DType

PADDING_BYTES = 32
"""Bytes between rows, so that the rows of a tensor core's fragment lie in different banks."""


def partials_shape(block: tuple[int, int], of: DType) -> tuple[int, int, int, int]:
    """The shape in shared memory of a tile's partial results, as the one tile of a workspace."""
    rows, columns = block
    return 1, 1, rows, columns + PADDING_BYTES // of.nbytes


@record
class ClusterPartials:
    """Partial results of a tile in the shared memory of the blocks of a cluster, or of one block
    alone."""

    partials: Shared
    """By partial result of the block, 0, row and column."""
    block: tuple[int, int]
    threads: int
    slices: int
    neighbours: int = 0
    """Neighbours in a row that a thread adds up at once, if they are not what an access takes."""

    @property
    def lanes(self) -> int:
        """Neighbours in a row that a thread adds up at once."""
        return self.neighbours or ACCESS_BYTES // int(self.partials.dtype.nbytes)

    @part
    def total(self, row: Int, column: Int) -> Registers:
        """Neighbours in a row of the tile, added up over the blocks of the cluster."""
        total = register_tensor(self.partials.dtype, (self.lanes,), init=0)
        for other, which in unroll(grid(self.slices, self.partials.shape[0])):
            if self.slices > 1:
                there = mapa(address(self.partials, which, 0, row, column), other)
                for v in vectorize(self.lanes):
                    total[v] += there[v]
            else:
                for v in vectorize(self.lanes):
                    total[v] += self.partials[which, 0, row, column + v]
        return total

    @part
    def add(self, end: Epilogue, z: Int, split: Int, top: Int, left: Int) -> None:
        """Add up part `split` of the tile at `top`, `left` for the epilogue. The cluster has to
        synchronise before that, and once more before the first block ends."""
        across, participants = self.block[1] // self.lanes, self.threads * self.slices
        pieces = self.block[0] * across
        exact = pieces % participants == 0
        for step in range(-(-pieces // participants)):
            number = (step * self.slices + split) * self.threads + threadIdx.x
            if True if exact else number < pieces:
                row, column = number // across, number % across * self.lanes
                i, j = top + row, left + column
                total = self.total(row, column)
                for v in vectorize(self.lanes):
                    end.write(total[v], z, i, j, v)
