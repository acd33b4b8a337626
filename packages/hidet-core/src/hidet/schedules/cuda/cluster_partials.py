"""Split-K partials of the blocks of a cluster, added up in distributed shared memory.

Each block has the sums of a whole tile over its part of k, or several parts of these. Each adds up
a part of the tile, reading all blocks in the same order: the result does not depend on which one is
done first.
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
    """The shape in shared memory of a tile's sums, as the one tile of a workspace."""
    rows, columns = block
    return 1, 1, rows, columns + PADDING_BYTES // of.nbytes


@record
class ClusterPartials:
    """Parts of the sums of a tile in shared memory, where the blocks of a cluster find each
    other's; all of them are those of a block alone."""

    sums: Shared
    """By part, 0, row and column."""
    block: tuple[int, int]
    threads: int
    slices: int
    neighbours: int = 0
    """Neighbours in a row that a thread adds up at once, if they are not what an access takes."""

    @property
    def lanes(self) -> int:
        """Neighbours in a row that a thread adds up at once."""
        return self.neighbours or ACCESS_BYTES // int(self.sums.dtype.nbytes)

    @part
    def total(self, row: Int, column: Int) -> Registers:
        """Neighbours in a row of the tile, added up over the blocks of the cluster."""
        total = register_tensor(self.sums.dtype, (self.lanes,), init=0)
        for other, which in unroll(grid(self.slices, self.sums.shape[0])):
            if self.slices > 1:
                there = mapa(address(self.sums, which, 0, row, column), other)
                for v in vectorize(self.lanes):
                    total[v] += there[v]
            else:
                for v in vectorize(self.lanes):
                    total[v] += self.sums[which, 0, row, column + v]
        return total

    @part
    def add(self, end: Epilogue, z: Int, share: Int, top: Int, left: Int) -> None:
        """Part `share` of the tile at `top`, `left` is added up and goes to the epilogue. Blocks
        have to meet before that, and once more before the first of them ends."""
        across, together = self.block[1] // self.lanes, self.threads * self.slices
        pieces = self.block[0] * across
        exact = pieces % together == 0
        for step in range(-(-pieces // together)):
            number = (step * self.slices + share) * self.threads + threadIdx.x
            if True if exact else number < pieces:
                row, column = number // across, number % across * self.lanes
                i, j = top + row, left + column
                total = self.total(row, column)
                for v in vectorize(self.lanes):
                    end.write(total[v], z, i, j, v)
