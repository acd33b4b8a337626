"""What is made of neighbours in rows of sums of warpgroups, such as gates: half as many columns.

A thread has one element of what four lanes make of eight columns. With that of the next eight it
fills a register of `stmatrix`: so elements lie in another order in shared memory, in which those
who write rows of them turn them round.
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
from hidet.schedules.cuda.warpgroups.lines import COLUMNS, LANES, ROWS
from hidet.schedules.cuda.warpgroups.tile_order import Tile
from hidet.schedules.cuda.warpgroups.write import Sums, neighbours_of
from hidet.target import WARP
from hidet.types import DType

MADE = COLUMNS // 2
"""Elements of a row that are made of what a warp writes at once."""
PLACES = [v % 4 * 2 + v // 4 for v in range(LANES)]
"""Where in shared memory neighbours lie, eight at a time."""


@record
class PairSums(Sums):
    """The end of a contraction: of two neighbours each, sums become lines of the result."""

    @part
    def stage(self, sums: Registers, of: Any, lane: Int, warp: Int, own: Tile, piece: int) -> None:
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
                    even, odd = sums[block * 4 + half * 2], sums[block * 4 + half * 2 + 1]
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


def sums_to(
    staged: Shared, bias: Global, c: Global, p: Contraction, columns: int,
    early: DType | None, after: AccumulatorEpilogue | None,
) -> Sums:  # fmt: skip
    """The end of a contraction, with what comes `after` it."""
    kind = PairSums if after is not None and after.pairs else Sums
    return kind(columns, neighbours_of(p), staged, c, p, bias, early, after)
