"""The epilogue of interleaved pairs of columns, as of gated linear units: half as many columns.

Of each eight columns a thread has two neighbours, which give one element. With that of the next
eight it fills a register of `stmatrix`: so elements are permuted in shared memory, and those who
write rows put them back in order.
"""

from __future__ import annotations

from typing import Any

from hidet.lang import (
    Global,
    Int,
    Registers,
    Shared,
    cast,
    f32,
    part,
    record,
    register_tensor,
    static,
    unroll,
    vectorize,
)
from hidet.lang.memory import from_accumulators, get
from hidet.mapping import auto_map
from hidet.mapping.fragments import mma_c
from hidet.schedules.base import AccumulatorEpilogue
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.warpgroups.epilogue import TileEpilogue, vector_width
from hidet.schedules.cuda.warpgroups.staged_store import COLUMNS, LANES, ROWS
from hidet.schedules.cuda.warpgroups.tile_order import Tile
from hidet.target import WARP
from hidet.types import DType

MADE = COLUMNS // 2
"""Elements of a row of the result that a warp writes at once."""
PLACES = [v % 4 * 2 + v // 4 for v in range(LANES)]
"""Where in shared memory each of eight neighbours lies."""


@record
class PairEpilogue(TileEpilogue):
    """Each two neighbours in a row of accumulators become one element of the result."""

    @property
    def blocks(self) -> int:
        return 4

    @part
    def fill(
        self, held: Registers, number: int, block: int, accumulators: Registers, of: Any, lane: Int,
        own: Tile,
    ) -> None:  # fmt: skip
        first, sums = own.left + block * 8 + mma_c().task(lane, 0)[1], accumulators
        if self.p.bias is not None:
            shift = register_tensor(f32, (2,))
            for pair in vectorize(2):
                at = self.p.bias_at(own.z, own.top, first + pair)
                shift[pair] = cast(of[block, pair] if self.early else get(of, *at), f32)
        for half in static(range(2)):
            even, odd = sums[block * 4 + half * 2], sums[block * 4 + half * 2 + 1]
            if self.p.bias is not None:
                even += shift[0]
                odd += shift[1]
            there = self.at(own.z, own.top + mma_c().task(lane, half, 0)[0], first)
            held[number // 2, half, number % 2] = from_accumulators(self.c, there, even, odd)

    @part
    def store(self, lane: Int, warp: Int, own: Tile, piece: int) -> None:
        column = own.left + piece * COLUMNS
        lines = auto_map(ROWS, MADE // LANES, workers=WARP)
        for step in unroll(lines.tasks_per_worker):
            i, j = lines.task(lane, step)[0], lines.task(lane, step)[1] * LANES
            permuted = register_tensor(self.c.dtype, LANES)
            ordered = register_tensor(self.c.dtype, LANES)
            for v in vectorize(LANES):
                permuted[v] = self.staged[warp, i, j + v]
            for each, place in static(enumerate(PLACES)):
                ordered[each] = permuted[place]
            for v in vectorize(LANES):
                self.c.put(*self.at(own.z, own.top + i, column + (j + v) * 2), ordered[v])


def epilogue_of(
    staged: Shared, bias: Global, c: Global, p: Contraction, columns: int,
    early: DType | None, after: AccumulatorEpilogue | None,
) -> TileEpilogue:  # fmt: skip
    """The epilogue of a contraction, with what is computed `after` it."""
    kind = PairEpilogue if after is not None and after.pairs else TileEpilogue
    return kind(columns, vector_width(p), staged, c, p, bias, early, after)
