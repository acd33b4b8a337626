"""The same as `moments.py` with split-K among the blocks of a cluster (sm_90a).

Each has a share of a tile's rows to add up and to write (`cluster_partials.py`), four sums at once.
"""

from __future__ import annotations

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
    unroll,
    vectorize,
)
from hidet.lang.cuda import threadIdx
from hidet.lang.memory import get
from hidet.ops.reductions.partial_statistics import RUN
from hidet.schedules.cuda.cluster_partials import ClusterPartials
from hidet.schedules.cuda.normed.moments import Added, Beside
from hidet.schedules.cuda.normed.statistics import Statistics, find_moments
from hidet.schedules.cuda.warpgroups.groups import Warpgroups
from hidet.schedules.cuda.warpgroups.tile_order import Tile
from hidet.schedules.product import Product
from hidet.target import ACCESS_BYTES

LANES = ACCESS_BYTES // f32.nbytes
"""Sums that a thread adds up at once."""
BESIDE = RUN // LANES
"""Threads that have the sums of a run."""


def steps_of(point: Warpgroups) -> int:
    """How many steps a thread takes to add up its share of a tile."""
    rows, columns = point.block
    return rows * columns // (LANES * point.consumers * point.slices)


@record
class SharedMoments:
    """The end of a product that hands moments on, for warpgroups with a share of a tile's sums."""

    p: Product
    point: Warpgroups
    beside: Beside
    statistics: Statistics
    c: Global
    moments: Global
    scaled: Global

    @property
    def steps(self) -> int:
        """How many steps a thread takes."""
        return steps_of(self.point)

    @part
    def registers(self) -> SharedAdded:
        """Room for what will be done with a thread's sums."""
        of, shape = self.beside, (self.steps, LANES)
        near = register_tensor(of.residual.dtype, shape)
        shift = register_tensor(of.bias.dtype, shape)
        stretch = register_tensor(of.residual_gain.dtype, shape)
        factor = register_tensor(of.gain.dtype, shape)
        known = register_tensor(f32, self.statistics.held)
        mean, scale = register_tensor(f32, (self.steps,)), register_tensor(f32, (self.steps,))
        return SharedAdded(of, near, shift, stretch, factor, mean, scale, known)

    @part
    def place(self, step: Int, share: Int) -> tuple[Int, Int]:
        """Row and column, within the tile, of what a thread adds up at a step."""
        beside = self.point.block[1] // LANES
        number = (step * self.point.slices + share) * self.point.consumers + threadIdx.x
        return number // beside, number % beside * LANES

    @part
    def prefetch(self, held: SharedAdded, tile: Tile, share: Int) -> None:
        """What will be done with a thread's sums is under way."""
        of, p = self.beside, self.p
        for step in static(range(self.steps)):
            row, column = self.place(step, share)
            for v in vectorize(LANES):
                at = p.c_at(0, tile.top + row, tile.left + column + v)
                held.near[step, v] = get(of.residual, *at)
            if p.bias is not None:
                for v in vectorize(LANES):
                    held.shift[step, v] = get(of.bias, tile.left + column + v)
            if of.normed:
                self.statistics.bring(held.known, step, tile.top + row)
                for v in vectorize(LANES):
                    held.stretch[step, v] = get(of.residual_gain, tile.left + column + v)
            if of.scaled:
                for v in vectorize(LANES):
                    held.factor[step, v] = get(of.gain, tile.left + column + v)

    @part
    def write(self, partials: ClusterPartials, held: SharedAdded, tile: Tile, share: Int) -> None:
        """The sums of all blocks become the result, and its moments, and it times the gain."""
        values = register_tensor(f32, (self.steps, LANES))
        if self.beside.normed:
            self.statistics.combine(held.known, held.mean, held.scale)
        for step in unroll(self.steps):
            row, column = self.place(step, share)
            total = partials.total(row, column)
            for v in static(range(LANES)):
                values[step, v] = held.value(total[v], (step, v), step, (step, v))
        self.store(values, held, tile, share)
        self.tell(values, tile, share)

    @part
    def store(self, values: Registers, held: SharedAdded, tile: Tile, share: Int) -> None:
        """The result is written, times the gain too; what stays is the result as it is rounded."""
        of, p = self.beside, self.p
        for step in unroll(self.steps):
            row, column = self.place(step, share)
            if of.scaled:
                for v in vectorize(LANES):
                    value = values[step, v] * cast(held.factor[step, v], f32)
                    at = p.c_at(0, tile.top + row, tile.left + column + v)
                    self.scaled.put(*at, cast(value, p.c.dtype))
            for v in vectorize(LANES):
                rounded = cast(values[step, v], p.c.dtype)
                self.c.put(*p.c_at(0, tile.top + row, tile.left + column + v), rounded)
                values[step, v] = cast(rounded, f32)

    @part
    def tell(self, values: Registers, tile: Tile, share: Int) -> None:
        """The moments of the result are written."""
        found = register_tensor(f32, (self.steps, 2))
        find_moments(values, found, BESIDE)
        if threadIdx.x % BESIDE == 0:
            for step in unroll(self.steps):
                row, column = self.place(step, share)
                for which in vectorize(2):
                    at = self.p.c_at(0, tile.top + row, (tile.left + column) // RUN)
                    self.moments.put(*at, which, found[step, which])


@record
class SharedAdded(Added):
    """What a thread does with its share of sums."""

    known: Registers
    """Moments of the residual's rows."""
