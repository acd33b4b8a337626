"""The same as `wgmma_moments.py` where the blocks of a cluster add up each other's sums (sm_90a).

Each has a share of a tile's rows to add up and to write (`pile.py`), four sums at once.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type"
# mypy: disable-error-code="comparison-overlap"
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
    residual is yet to be."""

    p: Product
    block: tuple[int, int]
    threads: int
    slices: int
    normed: bool

    @property
    def steps(self) -> int:
        """How many steps a thread takes."""
        rows, columns = self.block
        return rows * columns // (LANES * self.threads * self.slices)

    def placing(self) -> ScriptFunction:
        """(step, share) to row and column within the tile."""
        beside, threads, slices = self.block[1] // LANES, self.threads, self.slices

        @script
        def place(step, share):  # type: ignore[no-untyped-def]
            number = (step * slices + share) * threads + threadIdx.x
            return number // beside, number % beside * LANES

        return place

    def bringing(self) -> ScriptFunction:
        """(residual, bias, gain, near, shift, gains, share, top, left). What will be added to a
        thread's sums is under way."""
        p, steps, place, normed = self.p, self.steps, self.placing(), self.normed

        @script
        def bring(  # type: ignore[no-untyped-def]
            residual, bias, gain, near, shift, gains, share, top, left
        ):
            for step in unroll(steps):
                row, column = place(step, share)
                for v in vectorize(LANES):
                    near[step, v] = get(residual, *p.c_at(0, top + row, left + column + v))
                if p.bias is not None:
                    for v in vectorize(LANES):
                        shift[step, v] = get(bias, left + column + v)
                if normed:
                    for v in vectorize(LANES):
                        gains[step, v] = get(gain, left + column + v)

        return bring

    def holding(self, statistics: Statistics) -> ScriptFunction:
        """(moments, held, share, top). Those of a thread's rows are under way."""
        steps, place, bring = self.steps, self.placing(), statistics.bringing()

        @script
        def hold(moments, held, share, top):  # type: ignore[no-untyped-def]
            for step in static(range(steps)):
                row, _ = place(step, share)
                bring(moments, held, step, top + row)

        return hold

    def gathering(self) -> ScriptFunction:
        """(pile, values, share). The sums of all blocks."""
        steps, slices, place = self.steps, self.slices, self.placing()

        @script
        def gather(pile, values, share):  # type: ignore[no-untyped-def]
            for step in unroll(steps):
                row, column = place(step, share)
                for v in vectorize(LANES):
                    values[step, v] = 0.0
                for other in unroll(slices):
                    there = mapa(address(pile, 0, 0, row, column), other)
                    for v in vectorize(LANES):
                        values[step, v] += there[v]

        return gather

    def adding(self) -> ScriptFunction:
        """(near, shift, gains, mean, scale, values, c, share, top, left). Sums become the result,
        as it is rounded, and are written."""
        p, steps, place, value_of = self.p, self.steps, self.placing(), nearing(self.normed)

        @script
        def add(  # type: ignore[no-untyped-def]
            near, shift, gains, mean, scale, values, c, share, top, left
        ):
            for step in unroll(steps):
                row, column = place(step, share)
                for v in vectorize(LANES):
                    value = values[step, v]
                    value += value_of(near[step, v], mean[step], scale[step], gains[step, v])
                    if p.bias is not None:
                        value += cast(shift[step, v], f32)
                    rounded = cast(value, p.c.dtype)
                    c.put(*p.c_at(0, top + row, left + column + v), rounded)
                    values[step, v] = cast(rounded, f32)

        return add

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
