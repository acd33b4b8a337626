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

    @part
    def stage(
        self, accumulators: Registers, of: Any, lane: Int, warp: Int, own: Tile, piece: int
    ) -> None:
        for step in static(range(MADE // 16)):
            held = register_tensor(self.c.dtype, (2, 2, 2))
            for beside, which in static([(b, w) for b in range(2) for w in range(2)]):
                block = piece * (COLUMNS // 8) + step * 4 + beside * 2 + which
                first = own.left + block * 8 + mma_c().task(lane, 0)[1]
                if self.p.bias is not None:
                    shift = register_tensor(f32, (2,))
                    for pair in vectorize(2):
                        at = self.p.bias_at(own.z, own.top, first + pair)
                        shift[pair] = cast(of[block, pair] if self.early else get(of, *at), f32)
                for half in static(range(2)):
                    even, odd = (
                        accumulators[block * 4 + half * 2],
                        accumulators[block * 4 + half * 2 + 1],
                    )
                    if self.p.bias is not None:
                        even += shift[0]
                        odd += shift[1]
                    there = self.at(own.z, own.top + mma_c().task(lane, half, 0)[0], first)
                    held[beside, half, which] = from_accumulators(self.c, there, even, odd)
            self.place(held, lane, warp, step * 16)

    @part
    def store(self, lane: Int, warp: Int, own: Tile, piece: int) -> None:
        column = own.left + piece * COLUMNS
        lines = auto_map(ROWS, MADE // LANES, workers=WARP)
        for step in unroll(lines.tasks_per_worker):
            i, j = lines.task(lane, step)[0], lines.task(lane, step)[1] * LANES
            lain = register_tensor(self.c.dtype, LANES)
            turned = register_tensor(self.c.dtype, LANES)
            for v in vectorize(LANES):
                lain[v] = self.staged[warp, i, j + v]
            for each, place in static(enumerate(PLACES)):
                turned[each] = lain[place]
            for v in vectorize(LANES):
                self.c.put(*self.at(own.z, own.top + i, column + (j + v) * 2), turned[v])


def epilogue_of(
    staged: Shared, bias: Global, c: Global, p: Contraction, columns: int,
    early: DType | None, after: AccumulatorEpilogue | None,
) -> TileEpilogue:  # fmt: skip
    """The epilogue of a contraction, with what is computed `after` it."""
    kind = PairEpilogue if after is not None and after.pairs else TileEpilogue
    return kind(columns, vector_width(p), staged, c, p, bias, early, after)
