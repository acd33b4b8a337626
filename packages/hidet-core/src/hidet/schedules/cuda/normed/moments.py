"""An epilogue with bias and residual that also writes normalisation statistics (sm_90a).

What is added is under way while a tile is summed up; a residual that is yet to be normed is when it
is added, in float32. Moments are those of the result as it is rounded; times the gain of its norm
it is rounded once.
"""

from __future__ import annotations

from typing import Any

from hidet.lang import (
    Global,
    Int,
    Registers,
    cast,
    f32,
    part,
    record,
    register_tensor,
    static,
    vectorize,
)
from hidet.lang.cuda import threadIdx
from hidet.lang.memory import get
from hidet.mapping.fragments import ROW_LANES, mma_c
from hidet.ops.reductions.partial_statistics import RUN, LinearMoments
from hidet.schedules.cuda.normed.statistics import Statistics, find_moments
from hidet.schedules.cuda.warpgroups.tile_order import Tile
from hidet.schedules.cuda.warpgroups.write import Sums
from hidet.schedules.product import Product
from hidet.target import WARP

BLOCK = 8
"""Columns of which four lanes have sums side by side, two each."""
WITHIN = [(b, h, e) for b in range(RUN // BLOCK) for h in range(2) for e in range(2)]
"""A thread's sums of a run: block, row and neighbour."""


@record
class Beside:
    """The operands of a product that hands moments on, beside those that are multiplied."""

    op: LinearMoments
    residual: Global
    bias: Global
    residual_gain: Global
    gain: Global

    @property
    def normed(self) -> bool:
        """Whether the residual is yet to be normed."""
        return self.op.residual_gain is not None

    @property
    def scaled(self) -> bool:
        """Whether the result times a gain is asked for, too."""
        return self.op.gain is not None


@record
class Added:
    """What a thread does with its sums, under way in registers meanwhile."""

    beside: Beside
    near: Registers
    """Elements of the residual."""
    shift: Registers
    stretch: Registers
    """Bias, and gain of the residual, of a thread's columns."""
    factor: Registers
    """The gain of its columns."""
    mean: Registers
    scale: Registers
    """How the residual's rows are normed."""

    @part
    def value(self, total: Any, at: Any, row: Int, column: Any) -> Any:
        """A sum with what is added to it."""
        near = cast(self.near[*at], f32)
        if self.beside.normed:
            near = (near - self.mean[row]) * self.scale[row]
            near = near * cast(self.stretch[*column], f32)
        total += near
        if self.beside.op.bias is not None:
            total += cast(self.shift[*column], f32)
        return total


@record
class MomentSums:
    """The end of a product that hands moments on, for warpgroups with the whole sums of a tile."""

    p: Product
    columns: int
    beside: Beside
    statistics: Statistics
    moments: Global
    to_c: Sums
    to_scaled: Sums

    @property
    def places(self) -> list[tuple[int, int, int]]:
        """A thread's sums: blocks of columns, in each two neighbours of each of two rows."""
        return [(b, h, e) for b in range(self.columns // BLOCK) for h in range(2) for e in range(2)]

    @part
    def registers(self) -> Added:
        """Room for what will be done with a thread's sums."""
        of, blocks = self.beside, self.columns // BLOCK
        near = register_tensor(of.residual.dtype, (blocks, 2, 2))
        shift = register_tensor(of.bias.dtype, (blocks, 2))
        stretch = register_tensor(of.residual_gain.dtype, (blocks, 2))
        factor = register_tensor(of.gain.dtype, (blocks, 2))
        mean, scale = register_tensor(f32, (2,)), register_tensor(f32, (2,))
        return Added(of, near, shift, stretch, factor, mean, scale)

    @part
    def prefetch(self, held: Added, tile: Tile) -> None:
        """What will be added to a thread's sums is under way."""
        of, p = self.beside, self.p
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        row = tile.top + warp * 16 + mma_c().task(lane, 0)[0]
        column = tile.left + mma_c().task(lane, 0)[1]
        for block in static(range(self.columns // BLOCK)):
            for half in static(range(2)):
                for pair in vectorize(2):
                    at = p.c_at(0, row + half * 8, column + block * BLOCK + pair)
                    held.near[block, half, pair] = get(of.residual, *at)
            if p.bias is not None:
                for pair in vectorize(2):
                    held.shift[block, pair] = get(of.bias, column + block * BLOCK + pair)
            if of.normed:
                for pair in vectorize(2):
                    held.stretch[block, pair] = get(of.residual_gain, column + block * BLOCK + pair)
        if of.normed:
            self.statistics.find(held.mean, held.scale, tile.top)

    @part
    def write(self, sums: Registers, held: Added, tile: Tile) -> None:
        """Sums become the result, and its moments, and the result times the gain."""
        for block, half, pair in static(self.places):
            total = sums[block * 4 + half * 2 + pair]
            sums[block * 4 + half * 2 + pair] = held.value(
                total, (block, half, pair), half, (block, pair)
            )
        self.tell(sums, tile)
        if self.beside.scaled:
            # No earlier: what is added has its registers until here.
            self.weigh(held, tile.left)
        self.to_c.write(sums, None, tile)
        if self.beside.scaled:
            for block, half, pair in static(self.places):
                sums[block * 4 + half * 2 + pair] *= cast(held.factor[block, pair], f32)
            self.to_scaled.write(sums, None, tile)

    @part
    def tell(self, sums: Registers, tile: Tile) -> None:
        """The moments of the result, as it is rounded, are written."""
        lane, warp, within = threadIdx.x % WARP, threadIdx.x // WARP, RUN // BLOCK
        row = tile.top + warp * 16 + mma_c().task(lane, 0)[0]
        for run in static(range(self.columns // RUN)):
            values = register_tensor(f32, (2, within * 2))
            for block, half, pair in static(WITHIN):
                number = (run * within + block) * 4 + half * 2 + pair
                values[half, block * 2 + pair] = cast(cast(sums[number], self.p.c.dtype), f32)
            found = register_tensor(f32, (2, 2))
            find_moments(values, found, 4)
            if ROW_LANES.task(lane)[1] == 0:
                for below in static(range(2)):
                    for which in vectorize(2):
                        at = self.p.c_at(0, row + below * 8, tile.left // RUN + run)
                        self.moments.put(*at, which, found[below, which])

    @part
    def weigh(self, held: Added, left: Int) -> None:
        """What the result will be multiplied with is under way."""
        column = left + mma_c().task(threadIdx.x, 0)[1]
        for block in static(range(self.columns // BLOCK)):
            for pair in vectorize(2):
                held.factor[block, pair] = get(self.beside.gain, column + block * BLOCK + pair)
