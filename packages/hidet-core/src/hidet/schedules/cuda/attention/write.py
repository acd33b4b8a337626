"""The result of attention by warpgroups: sums over keys, divided by those of their weights."""

from __future__ import annotations

from typing import Any

from hidet.lang import Int, Registers, cast, part, record, select, static
from hidet.schedules.attention import Rows
from hidet.schedules.contraction import Index
from hidet.schedules.cuda.warpgroups.lines import Lines
from hidet.schedules.cuda.warpgroups.tile_order import Tile


@record
class WeightedSums(Lines):
    """The end of attention: sums become rows of the result."""

    rows: Rows

    @part
    def at(self, z: Any, i: Any, j: Any) -> Index:
        found = self.rows.row_at(z, i, j)
        return found

    @part
    def finish(self, sums: Registers, row_sum: Registers, tile: Tile) -> None:
        """For warpgroups: a tile's sums, by the row sums of the weights of their rows."""
        for half in static(range(2)):
            total = row_sum[0, half]
            # Compilers would divide again for each element.
            row_sum[0, half] = select(total == 0.0, 0.0, 1.0 / total)
        self.write(sums, row_sum, tile)

    @part
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
        for half in static(range(2)):
            for pair in static(range(2)):
                value = sums[0, block, half * 2 + pair] * of[0, half]
                held[beside, half, pair] = cast(value, self.c.dtype)
