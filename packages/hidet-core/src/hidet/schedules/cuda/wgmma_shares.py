"""The same as `wgmma_moments.py` with split-K among the blocks of a cluster (sm_90a).

Each has a share of a tile's rows to add up and to write (`pile.py`), four sums at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet.lang import (
    ScriptFunction,
    address,
    cast,
    f32,
    register_tensor,
    script,
    static,
    unroll,
    vectorize,
)
from hidet.lang.cuda import mapa, threadIdx
from hidet.lang.memory import get
from hidet.ops.handed_norm import RUN
from hidet.schedules.cuda.wgmma_moments import nearing
from hidet.schedules.cuda.wgmma_statistics import Statistics, moments_of
from hidet.schedules.product import Product
from hidet.target import ACCESS_BYTES

LANES = ACCESS_BYTES // f32.nbytes
"""Sums that a thread adds up at once."""
BESIDE = RUN // LANES
"""Threads that have the sums of a run."""


@dataclass(frozen=True)
class SharedRows:
    """Parts of a kernel, for warpgroups of which each has a share of a tile's sums; `normed`: the
    residual is yet to be, `scaled`: the result times a gain is asked for, too."""

    p: Product
    block: tuple[int, int]
    threads: int
    slices: int
    normed: bool
    scaled: bool

    @property
    def steps(self) -> int:
        """How many steps a thread takes."""
        rows, columns = self.block
        return rows * columns // (LANES * self.threads * self.slices)

    @property
    def part(self) -> tuple[int, int]:
        """The shape in registers of a thread's share."""
        return self.steps, LANES

    def placing(self) -> ScriptFunction:
        """(step, share) to row and column within the tile."""
        beside, threads, slices = self.block[1] // LANES, self.threads, self.slices

        @script
        def place(step, share):  # type: ignore[no-untyped-def]
            number = (step * slices + share) * threads + threadIdx.x
            return number // beside, number % beside * LANES

        return place

    def bringing(self, statistics: Statistics) -> ScriptFunction:
        """(residual, residual_moments, bias, residual_gain, gain, near, held, shift, stretch,
        factor, share, top, left). What will be done with a thread's sums is under way."""
        p, steps, place, hold = self.p, self.steps, self.placing(), statistics.bringing()
        normed, scaled = self.normed, self.scaled

        @script
        def bring(  # type: ignore[no-untyped-def]
            residual, residual_moments, bias, residual_gain, gain,
            near, held, shift, stretch, factor, share, top, left,
        ):  # fmt: skip
            for step in static(range(steps)):
                row, column = place(step, share)
                for v in vectorize(LANES):
                    near[step, v] = get(residual, *p.c_at(0, top + row, left + column + v))
                if p.bias is not None:
                    for v in vectorize(LANES):
                        shift[step, v] = get(bias, left + column + v)
                if normed:
                    hold(residual_moments, held, step, top + row)
                    for v in vectorize(LANES):
                        stretch[step, v] = get(residual_gain, left + column + v)
                if scaled:
                    for v in vectorize(LANES):
                        factor[step, v] = get(gain, left + column + v)

        return bring

    def adding(self) -> ScriptFunction:
        """(pile, near, shift, stretch, mean, scale, values, share). The sums of all blocks become
        the result."""
        p, steps, slices, place = self.p, self.steps, self.slices, self.placing()
        value_of = nearing(self.normed)

        @script
        def add(  # type: ignore[no-untyped-def]
            pile, near, shift, stretch, mean, scale, values, share
        ):
            for step in unroll(steps):
                row, column = place(step, share)
                total = register_tensor(f32, (LANES,), init=0)
                for other in unroll(slices):
                    there = mapa(address(pile, 0, 0, row, column), other)
                    for v in vectorize(LANES):
                        total[v] += there[v]
                for v in static(range(LANES)):
                    value = total[v] + value_of(
                        near[step, v], mean[step], scale[step], stretch[step, v]
                    )
                    if p.bias is not None:
                        value += cast(shift[step, v], f32)
                    values[step, v] = value

        return add

    def writing(self) -> ScriptFunction:
        """(values, factor, c, scaled_c, share, top, left). The result is written, times the gain
        too; what stays is the result as it is rounded."""
        p, steps, place, scaled = self.p, self.steps, self.placing(), self.scaled

        @script
        def write(values, factor, c, scaled_c, share, top, left):  # type: ignore[no-untyped-def]
            for step in unroll(steps):
                row, column = place(step, share)
                if scaled:
                    for v in vectorize(LANES):
                        value = values[step, v] * cast(factor[step, v], f32)
                        at = p.c_at(0, top + row, left + column + v)
                        scaled_c.put(*at, cast(value, p.c.dtype))
                for v in vectorize(LANES):
                    rounded = cast(values[step, v], p.c.dtype)
                    c.put(*p.c_at(0, top + row, left + column + v), rounded)
                    values[step, v] = cast(rounded, f32)

        return write

    def telling(self) -> ScriptFunction:
        """(values, moments, share, top, left). The moments of the result are written."""
        p, steps, place = self.p, self.steps, self.placing()
        find = moments_of(steps, LANES, BESIDE)

        @script
        def tell(values, moments, share, top, left):  # type: ignore[no-untyped-def]
            found = register_tensor(f32, (steps, 2))
            find(values, found)
            if threadIdx.x % BESIDE == 0:
                for step in unroll(steps):
                    row, column = place(step, share)
                    for which in vectorize(2):
                        at = p.c_at(0, top + row, (left + column) // RUN)
                        moments.put(*at, which, found[step, which])

        return tell

    def settling(self, statistics: Statistics) -> ScriptFunction:
        """(pile, held, near, shift, stretch, factor, c, moments, scaled_c, share, top, left). What
        is left to do once all sums are there."""
        steps, normed, combine = self.steps, self.normed, statistics.combining()
        add, write, tell = self.adding(), self.writing(), self.telling()

        @script
        def settle(  # type: ignore[no-untyped-def]
            pile, held, near, shift, stretch, factor, c, moments, scaled_c, share, top, left
        ):
            values = register_tensor(f32, (steps, LANES))
            mean, scale = register_tensor(f32, (steps,)), register_tensor(f32, (steps,))
            if normed:
                combine(held, mean, scale)
            add(pile, near, shift, stretch, mean, scale, values, share)
            write(values, factor, c, scaled_c, share, top, left)
            tell(values, moments, share, top, left)

        return settle
