"""A layer norm of rows, applied to what warpgroups have summed up of them (sm_90a).

(sum of x * w - mean * (sum of w)) * scale + bias. Means and scales are put together while the first
tiles are on their way (`statistics.py`); what belongs to columns is under way as long as they
are summed up.
"""

from __future__ import annotations

from hidet.lang import (
    Global,
    Registers,
    f32,
    part,
    record,
    register_tensor,
    static,
    vectorize,
)
from hidet.lang.cuda import threadIdx
from hidet.lang.memory import get
from hidet.mapping.fragments import mma_c
from hidet.ops.reductions.partial_statistics import NormedLinear
from hidet.schedules.cuda.normed.moments import BLOCK
from hidet.schedules.cuda.normed.statistics import Statistics
from hidet.schedules.cuda.warpgroups.tile_order import Tile
from hidet.schedules.cuda.warpgroups.write import Sums


@record
class Norms:
    """What a thread norms its sums by, under way in registers meanwhile."""

    weights: Registers
    shift: Registers
    """The sums of weights and the bias of a thread's columns."""
    mean: Registers
    scale: Registers
    """Those of its rows."""


@record
class NormedSums:
    """The end of a product of normed rows, for warpgroups."""

    op: NormedLinear
    columns: int
    statistics: Statistics
    sums_of: Global
    bias: Global
    to_c: Sums

    @part
    def registers(self) -> Norms:
        """Room for what a thread norms its sums by."""
        mean, scale = register_tensor(f32, (2,)), register_tensor(f32, (2,))
        weights = register_tensor(f32, (self.columns // BLOCK, 2))
        shift = register_tensor(f32, (self.columns // BLOCK, 2))
        return Norms(weights, shift, mean, scale)

    @part
    def prefetch(self, held: Norms, tile: Tile) -> None:
        """What belongs to a thread's columns and rows is under way."""
        column = tile.left + mma_c().task(threadIdx.x, 0)[1]
        for block in static(range(self.columns // BLOCK)):
            for pair in vectorize(2):
                held.weights[block, pair] = get(self.sums_of, column + block * BLOCK + pair)
            if self.op.bias is not None:
                for pair in vectorize(2):
                    held.shift[block, pair] = get(self.bias, column + block * BLOCK + pair)
        self.statistics.find(held.mean, held.scale, tile.top)

    @part
    def write(self, sums: Registers, held: Norms, tile: Tile) -> None:
        """Sums are normed and written."""
        blocks = self.columns // BLOCK
        places = [(b, h, e) for b in range(blocks) for h in range(2) for e in range(2)]
        for block, half, pair in static(places):
            number = block * 4 + half * 2 + pair
            value = sums[number] - held.mean[half] * held.weights[block, pair]
            value *= held.scale[half]
            if self.op.bias is not None:
                value += held.shift[block, pair]
            sums[number] = value
        self.to_c.write(sums, None, tile)
