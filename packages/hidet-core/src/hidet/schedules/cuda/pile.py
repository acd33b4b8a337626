"""Split-K partials of the blocks of a cluster, added up in distributed shared memory.

Each block has the sums of a whole tile over its part of k. Each adds up a part of the tile, reading
all blocks in the same order: the result does not depend on which one is done first.
"""

from __future__ import annotations

from hidet.lang import ScriptFunction, address, register_tensor, script, unroll, vectorize
from hidet.lang.cuda import mapa, threadIdx
from hidet.target import ACCESS_BYTES
from hidet.types import DType

PADDING_BYTES = 32
"""Bytes between rows, so that the rows of a tensor core's fragment lie in different banks."""


def pile_shape(block: tuple[int, int], of: DType) -> tuple[int, int, int, int]:
    """The shape in shared memory of a tile's sums, as the one tile of a workspace."""
    rows, columns = block
    return 1, 1, rows, columns + PADDING_BYTES // of.nbytes


def add_pile(block: tuple[int, int], threads: int, slices: int, wide: DType) -> ScriptFunction:
    """A part of a kernel: (pile, epilogue, z, share, top, left).

    It adds up part `share` of the tile at `top`, `left` and writes it. The blocks have to meet
    before it, and once more before the first of them ends.
    """
    lanes = ACCESS_BYTES // wide.nbytes
    across = block[1] // lanes
    pieces = block[0] * across
    exact = pieces % (threads * slices) == 0

    @script
    def add(pile, epilogue, z, share, top, left):  # type: ignore[no-untyped-def]
        for step in range(-(-pieces // (threads * slices))):
            number = (step * slices + share) * threads + threadIdx.x
            if True if exact else number < pieces:
                row, column = number // across, number % across * lanes
                i, j = top + row, left + column
                total = register_tensor(wide, (lanes,), init=0)
                for other in unroll(slices):
                    there = mapa(address(pile, 0, 0, row, column), other)
                    for v in vectorize(lanes):
                        total[v] += there[v]
                for v in vectorize(lanes):
                    epilogue.write(total[v], z, i, j, v)

    return add
