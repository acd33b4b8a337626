"""The epilogue of attention by warpgroups: accumulators, divided by their row sums, are written."""

from __future__ import annotations

from typing import Any

from hidet.lang import Int, Registers, cast, part, record, static
from hidet.schedules.attention import Rows
from hidet.schedules.contraction import Index
from hidet.schedules.cuda.attention.softmax import OnlineSoftmax, inverse_of
from hidet.schedules.cuda.warpgroups.staged_store import StagedStore
from hidet.schedules.cuda.warpgroups.tile_order import Tile


@record
class AttentionEpilogue(StagedStore):
    """Accumulators become rows of the result."""

    rows: Rows

    @part
    def at(self, z: Any, i: Any, j: Any) -> Index:
        found = self.rows.row_at(z, i, j)
        return found

    @part
    def finish(self, softmax: OnlineSoftmax, tile: Tile) -> None:
        """For warpgroups: a tile is divided by its row sums and written."""
        row_sum = softmax.row_sum
        for half in static(range(2)):
            # Compilers would divide again for each element.
            row_sum[0, half] = inverse_of(row_sum[0, half])
        self.write(softmax.accumulators, row_sum, tile)

    @part
    def fill(
        self, held: Registers, number: int, block: int, sums: Registers, of: Any, lane: Int,
        own: Tile,
    ) -> None:  # fmt: skip
        for half in static(range(2)):
            for pair in static(range(2)):
                value = sums[0, block, half * 2 + pair] * of[0, half]
                held[number, half, pair] = cast(value, self.c.dtype)
