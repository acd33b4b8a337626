"""The epilogue of a matmul of rows that are normalised by their statistics (sm_90a).

(x @ w - mean * (sum of w)) * scale + bias, for rows x that a layer norm is still to be applied to.
Means and scales are combined while the first tiles are loaded (`statistics.py`); what belongs to
columns is loaded during the main loop.
"""

from __future__ import annotations

from hidet.lang import Global, Registers, f32, part, record, register_tensor, static, vectorize
from hidet.lang.cuda import threadIdx
from hidet.lang.memory import get
from hidet.mapping.fragments import mma_c
from hidet.ops.reductions.partial_statistics import NormedLinear
from hidet.schedules.cuda.normed.producer import BLOCK
from hidet.schedules.cuda.normed.statistics import Statistics
from hidet.schedules.cuda.warpgroups.epilogue import TileEpilogue
from hidet.schedules.cuda.warpgroups.tile_order import Tile


@record
class Norms:
    """By what a thread's accumulators are normalised, in registers."""

    weights: Registers
    bias: Registers
    """The sums of weights and the bias of a thread's columns."""
    mean: Registers
    scale: Registers
    """Those of its rows."""


@record
class ConsumerEpilogue:
    """Accumulators of warpgroups are normalised and written."""

    op: NormedLinear
    columns: int
    statistics: Statistics
    sums_of: Global
    bias: Global
    to_c: TileEpilogue

    @part
    def registers(self) -> Norms:
        """Registers for that by which accumulators are normalised."""
        mean, scale = register_tensor(f32, (2,)), register_tensor(f32, (2,))
        weights = register_tensor(f32, (self.columns // BLOCK, 2))
        bias = register_tensor(f32, (self.columns // BLOCK, 2))
        return Norms(weights, bias, mean, scale)

    @part
    def prefetch(self, held: Norms, tile: Tile) -> None:
        """What belongs to a thread's columns and rows is loaded."""
        column = tile.left + mma_c().task(threadIdx.x, 0)[1]
        for block in static(range(self.columns // BLOCK)):
            for pair in vectorize(2):
                held.weights[block, pair] = get(self.sums_of, column + block * BLOCK + pair)
            if self.op.bias is not None:
                for pair in vectorize(2):
                    held.bias[block, pair] = get(self.bias, column + block * BLOCK + pair)
        self.statistics.find(held.mean, held.scale, tile.top)

    @part
    def write(self, accumulators: Registers, held: Norms, tile: Tile) -> None:
        """Accumulators are normalised and written."""
        blocks = self.columns // BLOCK
        places = [(b, h, e) for b in range(blocks) for h in range(2) for e in range(2)]
        for number, (block, half, pair) in static(enumerate(places)):
            value = accumulators[number] - held.mean[half] * held.weights[block, pair]
            value *= held.scale[half]
            if self.op.bias is not None:
                value += held.bias[block, pair]
            accumulators[number] = value
        self.to_c.write(accumulators, None, tile)
