"""The epilogue of a matmul that produces normalisation statistics of its result's rows (sm_90a).

It adds bias and residual; a residual that is yet to be normalised is so where it is added, in
float32. Statistics are those of the result as it is rounded; the result times the gain of its norm
is rounded once. What is added is loaded during the main loop.
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
    unroll,
    vectorize,
)
from hidet.lang.cuda import threadIdx
from hidet.lang.memory import get
from hidet.mapping.fragments import mma_c
from hidet.ops.reductions.partial_statistics import RUN, LinearMoments
from hidet.schedules.cuda.cluster_partials import ClusterPartials
from hidet.schedules.cuda.normed.statistics import Statistics, find_moments
from hidet.schedules.cuda.warpgroups.epilogue import TileEpilogue
from hidet.schedules.cuda.warpgroups.groups import Warpgroups
from hidet.schedules.cuda.warpgroups.tile_order import Tile
from hidet.schedules.product import Product
from hidet.target import ACCESS_BYTES, WARP

BLOCK = 8
"""Columns of a fragment, of which four lanes have two neighbours each."""
LANES = ACCESS_BYTES // f32.nbytes
"""Neighbours that a thread adds up at once where k is split."""
RUN_THREADS = RUN // LANES
"""Threads that have the elements of a run there."""


@record
class AddedOperands:
    """The operands of the matmul other than those that are multiplied."""

    op: LinearMoments
    residual: Global
    bias: Global
    residual_gain: Global
    gain: Global

    @property
    def normed(self) -> bool:
        """Whether the residual is yet to be normalised."""
        return self.op.residual_gain is not None

    @property
    def scaled(self) -> bool:
        """Whether the result times a gain is asked for, too."""
        return self.op.gain is not None


@record
class Prefetched:
    """What a thread's elements get, loaded during the main loop."""

    of: AddedOperands
    residual: Registers
    """By group, row of the group, and neighbour."""
    bias: Registers
    residual_gain: Registers
    gain: Registers
    """By group and neighbour."""
    partials: Registers
    """Statistics of runs of the residual's rows."""
    mean: Registers
    scale: Registers
    """How the residual's rows are normalised."""

    @part
    def value(self, total: Any, group: Int, row: Int, v: Int, which: Int) -> Any:
        """An accumulator with what is added to it; `which` is its row's number in `mean`."""
        residual = cast(self.residual[group, row, v], f32)
        if self.of.normed:
            residual = (residual - self.mean[which]) * self.scale[which]
            residual = residual * cast(self.residual_gain[group, v], f32)
        total += residual
        if self.of.op.bias is not None:
            total += cast(self.bias[group, v], f32)
        return total


@record
class ProducerEpilogue:
    """What both epilogues have in common. A thread has groups of neighbours in the same columns of
    one or more rows."""

    p: Product
    of: AddedOperands
    statistics: Statistics
    """Those of the residual."""
    moments: Global

    @property
    def extent(self) -> tuple[int, int, int]:
        """A thread's groups, rows of each, and neighbours in a row."""
        raise NotImplementedError

    def origin(self, tile: Tile, share: Any) -> Any:
        """A part of kernels: what `position` needs of a tile."""
        raise NotImplementedError

    def position(self, origin: Any, group: Any, row: int) -> tuple[Int, Int]:
        """A part of kernels: the row and column of a thread's first neighbour in a group's row."""
        raise NotImplementedError

    @part
    def registers(self) -> Prefetched:
        """Registers for what a thread's elements get."""
        of, (groups, rows, width) = self.of, self.extent
        residual = register_tensor(of.residual.dtype, (groups, rows, width))
        bias = register_tensor(of.bias.dtype, (groups, width))
        residual_gain = register_tensor(of.residual_gain.dtype, (groups, width))
        gain = register_tensor(of.gain.dtype, (groups, width))
        partials = register_tensor(f32, self.statistics.held)
        mean = register_tensor(f32, (self.statistics.rows,))
        scale = register_tensor(f32, (self.statistics.rows,))
        return Prefetched(of, residual, bias, residual_gain, gain, partials, mean, scale)

    @part
    def load(self, held: Prefetched, tile: Tile, share: Any) -> None:
        """Loads of residual, bias and the residual's gain are started."""
        of, (groups, rows, width) = self.of, self.extent
        origin = self.origin(tile, share)
        for group in static(range(groups)):
            for row in static(range(rows)):
                i, j = self.position(origin, group, row)
                for v in vectorize(width):
                    held.residual[group, row, v] = get(of.residual, *self.p.c_at(0, i, j + v))
            _, j = self.position(origin, group, 0)
            if self.p.bias is not None:
                self.load_columns(of.bias, held.bias, group, j)
            if of.normed:
                self.load_columns(of.residual_gain, held.residual_gain, group, j)

    @part
    def load_columns(self, operand: Global, held: Registers, group: Int, first: Int) -> None:
        """Loads of an operand that belongs to columns are started, for one group."""
        for v in vectorize(held.shape[1]):
            held[group, v] = get(operand, first + v)


@record
class WholeProducerEpilogue(ProducerEpilogue):
    """The epilogue of warpgroups that have whole sums of a tile, in fragments of `mma_c`."""

    columns: int
    to_c: TileEpilogue
    to_scaled: TileEpilogue

    @property
    def extent(self) -> tuple[int, int, int]:
        return self.columns // BLOCK, 2, 2

    @property
    def elements(self) -> list[tuple[int, int, int]]:
        """A thread's accumulators in order: group, row, neighbour."""
        groups, rows, width = self.extent
        return [(g, r, v) for g in range(groups) for r in range(rows) for v in range(width)]

    @part
    def origin(self, tile: Tile, share: Any) -> tuple[Int, Int]:
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        i = tile.top + warp * 16 + mma_c().task(lane, 0)[0]
        j = tile.left + mma_c().task(lane, 0)[1]
        return i, j

    def position(self, origin: Any, group: Any, row: int) -> tuple[Int, Int]:
        i, j = origin
        return i + row * 8, j + group * BLOCK

    @part
    def prefetch(self, held: Prefetched, tile: Tile) -> None:
        """What will be added to a thread's accumulators is loaded."""
        self.load(held, tile, 0)
        if self.of.normed:
            self.statistics.find(held.mean, held.scale, tile.top)

    @part
    def write(self, accumulators: Registers, held: Prefetched, tile: Tile) -> None:
        """Accumulators become the result, its statistics, and the result times the gain."""
        for number, (group, row, v) in static(enumerate(self.elements)):
            accumulators[number] = held.value(accumulators[number], group, row, v, row)
        self.write_statistics(accumulators, tile)
        if self.of.scaled:
            # No earlier: what is added has its registers until here.
            origin = self.origin(tile, 0)
            for group in static(range(self.extent[0])):
                _, j = self.position(origin, group, 0)
                self.load_columns(self.of.gain, held.gain, group, j)
        self.to_c.write(accumulators, None, tile)
        if self.of.scaled:
            for number, (group, _, v) in static(enumerate(self.elements)):
                accumulators[number] *= cast(held.gain[group, v], f32)
            self.to_scaled.write(accumulators, None, tile)

    @part
    def write_statistics(self, accumulators: Registers, tile: Tile) -> None:
        """The statistics of the result, as it is rounded, are written run by run."""
        each, origin = RUN * 2 // 4, self.origin(tile, 0)
        for run in static(range(self.columns // RUN)):
            values = register_tensor(f32, (2, each // 2))
            for number in static(range(each)):
                rounded = cast(accumulators[run * each + number], self.p.c.dtype)
                values[number // 2 % 2, number // 4 * 2 + number % 2] = cast(rounded, f32)
            found = register_tensor(f32, (2, 2))
            find_moments(values, found, 4)
            if threadIdx.x % 4 == 0:
                for row in static(range(2)):
                    i, _ = self.position(origin, 0, row)
                    for which in vectorize(2):
                        at = self.p.c_at(0, i, tile.left // RUN + run)
                        self.moments.put(*at, which, found[row, which])


def steps_of(point: Warpgroups) -> int:
    """In how many steps a thread adds up its share of a tile where k is split."""
    rows, columns = point.block
    return rows * columns // (LANES * point.consumers * point.slices)


@record
class SplitProducerEpilogue(ProducerEpilogue):
    """The epilogue of split-K: each block of a cluster adds up a share of a tile, some neighbours
    of a row in each step (`cluster_partials.py`)."""

    point: Warpgroups
    c: Global
    scaled: Global

    @property
    def extent(self) -> tuple[int, int, int]:
        return steps_of(self.point), 1, LANES

    @part
    def origin(self, tile: Tile, share: Any) -> Any:
        return tile.top, tile.left, share

    @part
    def position(self, origin: Any, group: Any, row: int) -> tuple[Int, Int]:
        top, left, share = origin
        i, j = self.place(group, share)
        return top + i, left + j

    @part
    def place(self, step: Int, share: Int) -> tuple[Int, Int]:
        """Row and column, within the tile, of the neighbours that a thread adds up in a step."""
        across = self.point.block[1] // LANES
        number = (step * self.point.slices + share) * self.point.consumers + threadIdx.x
        return number // across, number % across * LANES

    @part
    def prefetch(self, held: Prefetched, tile: Tile, share: Int) -> None:
        """What a thread's elements get is loaded."""
        self.load(held, tile, share)
        for step in static(range(self.extent[0])):
            i, j = self.position(self.origin(tile, share), step, 0)
            if self.of.normed:
                self.statistics.load(held.partials, step, i)
            if self.of.scaled:
                self.load_columns(self.of.gain, held.gain, step, j)

    @part
    def write(self, partials: ClusterPartials, held: Prefetched, tile: Tile, share: Int) -> None:
        """The partials of all blocks become the result, its statistics, and it times the gain."""
        steps = self.extent[0]
        values = register_tensor(f32, (steps, LANES))
        if self.of.normed:
            self.statistics.combine(held.partials, held.mean, held.scale)
        for step in unroll(steps):
            total = partials.total(*self.place(step, share))
            for v in static(range(LANES)):
                values[step, v] = held.value(total[v], step, 0, v, step)
        for step in unroll(steps):
            self.store(values, held, step, tile, share)
        found = register_tensor(f32, (steps, 2))
        find_moments(values, found, RUN_THREADS)
        if threadIdx.x % RUN_THREADS == 0:
            for step in unroll(steps):
                i, j = self.position(self.origin(tile, share), step, 0)
                for which in vectorize(2):
                    self.moments.put(*self.p.c_at(0, i, j // RUN), which, found[step, which])

    @part
    def store(self, values: Registers, held: Prefetched, step: Int, tile: Tile, share: Int) -> None:
        """The result is written, times the gain too; `values` become the rounded result."""
        dtype, (i, j) = self.p.c.dtype, self.position(self.origin(tile, share), step, 0)
        if self.of.scaled:
            for v in vectorize(LANES):
                value = values[step, v] * cast(held.gain[step, v], f32)
                self.scaled.put(*self.p.c_at(0, i, j + v), cast(value, dtype))
        for v in vectorize(LANES):
            rounded = cast(values[step, v], dtype)
            self.c.put(*self.p.c_at(0, i, j + v), rounded)
            values[step, v] = cast(rounded, f32)
