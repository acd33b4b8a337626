"""Moments of runs of what warpgroups have summed up, with bias and residual added (sm_90a).

What is added is under way while a tile is summed up; a residual that is yet to be normed is then,
in float32. The result is rounded to its type first: its moments are those of what the next kernel
reads.
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
from hidet.schedules.cuda.wgmma_statistics import Statistics, across
from hidet.schedules.product import Product
from hidet.target import ACCESS_BYTES, WARP

LANES = ACCESS_BYTES // f32.nbytes
"""Sums that a thread adds up at once, where blocks share them."""


def moments_of(count: int, each: int, lanes: int) -> ScriptFunction:
    """A part of a kernel: (values[count, each], found[count, 2]), where `lanes` lanes side by side
    have `each` values of a run."""
    add = across(count, lanes)

    @script
    def find(values, found):  # type: ignore[no-untyped-def]
        total = register_tensor(f32, (count,), init=0)
        for number, v in static([(i, v) for i in range(count) for v in range(each)]):
            total[number] += values[number, v]
        add(total)
        for number in static(range(count)):
            found[number, 0] = total[number] * (1 / RUN)
            total[number] = 0.0
        for number, v in static([(i, v) for i in range(count) for v in range(each)]):
            away = values[number, v] - found[number, 0]
            total[number] += away * away
        add(total)
        for number in static(range(count)):
            found[number, 1] = total[number]

    return find


def nearing(normed: bool) -> ScriptFunction:
    """A part of a kernel: (near, mean, scale, gain) to what is added of a residual."""

    @script
    def plain(near, mean, scale, gain):  # type: ignore[no-untyped-def]
        return cast(near, f32)

    @script
    def norm(near, mean, scale, gain):  # type: ignore[no-untyped-def]
        return (cast(near, f32) - mean) * scale * cast(gain, f32)

    return norm if normed else plain


def bringing_near(p: Product, columns: int, normed: bool) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (residual, bias, gains, near, shift, gain, top, left).
    What will be added to a thread's sums is under way."""

    @script
    def bring(  # type: ignore[no-untyped-def]
        residual, bias, gains, near, shift, gain, top, left
    ):
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        row, column = top + warp * 16 + lane // 4, left + lane % 4 * 2
        for block in static(range(columns // 8)):
            for half in static(range(2)):
                for pair in vectorize(2):
                    at = p.c_at(0, row + half * 8, column + block * 8 + pair)
                    near[block, half, pair] = get(residual, *at)
            if p.bias is not None:
                for pair in vectorize(2):
                    shift[block, pair] = get(bias, column + block * 8 + pair)
            if normed:
                for pair in vectorize(2):
                    gain[block, pair] = get(gains, column + block * 8 + pair)

    return bring


def settling_moments(p: Product, columns: int, normed: bool) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (sums, near, shift, mean, scale, gain, moments, top,
    left). Sums become the result, and its moments are written."""
    value_of = nearing(normed)
    blocks = RUN // 8
    places = [(b, h, e) for b in range(blocks) for h in range(2) for e in range(2)]
    find = moments_of(2, blocks * 2, 4)

    @script
    def settle(  # type: ignore[no-untyped-def]
        sums, near, shift, mean, scale, gain, moments, top, left
    ):
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        row = top + warp * 16 + lane // 4
        for run in static(range(columns // RUN)):
            values = register_tensor(f32, (2, blocks * 2))
            for within, half, pair in static(places):
                block = run * blocks + within
                beside = value_of(
                    near[block, half, pair], mean[half], scale[half], gain[block, pair]
                )
                value = sums[block * 4 + half * 2 + pair] + beside
                if p.bias is not None:
                    value += cast(shift[block, pair], f32)
                rounded = cast(cast(value, p.c.dtype), f32)
                sums[block * 4 + half * 2 + pair] = rounded
                values[half, within * 2 + pair] = rounded
            found = register_tensor(f32, (2, 2))
            find(values, found)
            if lane % 4 == 0:
                for below in static(range(2)):
                    for which in vectorize(2):
                        at = p.c_at(0, row + below * 8, left // RUN + run)
                        moments.put(*at, which, found[below, which])

    return settle


@dataclass(frozen=True)
class Shares:
    """The same where the blocks of a cluster add up each other's sums (`pile.py`)."""

    p: Product
    block: tuple[int, int]
    threads: int
    slices: int
    normed: bool

    @property
    def beside(self) -> int:
        """Threads that have sums of one row of a tile."""
        return self.block[1] // LANES

    @property
    def steps(self) -> int:
        """How many steps a thread takes."""
        return self.block[0] * self.beside // (self.threads * self.slices)

    def placing(self) -> ScriptFunction:
        """A part of a kernel: (step, share) to row and column within the tile."""
        beside, threads, slices = self.beside, self.threads, self.slices

        @script
        def place(step, share):  # type: ignore[no-untyped-def]
            number = (step * slices + share) * threads + threadIdx.x
            return number // beside, number % beside * LANES

        return place

    def bringing(self) -> ScriptFunction:
        """A part of a kernel: (residual, bias, gains, near, shift, gain, share, top, left). What
        will be added to a thread's sums is under way."""
        p, steps, place, normed = self.p, self.steps, self.placing(), self.normed

        @script
        def bring(  # type: ignore[no-untyped-def]
            residual, bias, gains, near, shift, gain, share, top, left
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
                        gain[step, v] = get(gains, left + column + v)

        return bring

    def finding(self, statistics: Statistics) -> ScriptFunction:
        """A part of a kernel: (moments, mean, scale, share, top). Those of a thread's rows."""
        steps, place = self.steps, self.placing()
        bring, combine = statistics.bringing(), statistics.combining()

        @script
        def find(moments, mean, scale, share, top):  # type: ignore[no-untyped-def]
            held = register_tensor(f32, statistics.held)
            for step in static(range(steps)):
                row, _ = place(step, share)
                bring(moments, held, step, top + row)
            combine(held, mean, scale)

        return find

    def adding(self) -> ScriptFunction:
        """A part of a kernel: (pile, near, shift, mean, scale, gain, values, c, share, top, left).
        A thread's sums become the result."""
        p, steps, slices, place = self.p, self.steps, self.slices, self.placing()
        value_of = nearing(self.normed)

        @script
        def add(  # type: ignore[no-untyped-def]
            pile, near, shift, mean, scale, gain, values, c, share, top, left
        ):
            for step in unroll(steps):
                row, column = place(step, share)
                total = register_tensor(f32, (LANES,), init=0)
                for other in unroll(slices):
                    there = mapa(address(pile, 0, 0, row, column), other)
                    for v in vectorize(LANES):
                        total[v] += there[v]
                for v in vectorize(LANES):
                    value = total[v] + value_of(
                        near[step, v], mean[step], scale[step], gain[step, v]
                    )
                    if p.bias is not None:
                        value += cast(shift[step, v], f32)
                    rounded = cast(value, p.c.dtype)
                    c.put(*p.c_at(0, top + row, left + column + v), rounded)
                    values[step, v] = cast(rounded, f32)

        return add

    def telling(self) -> ScriptFunction:
        """A part of a kernel: (values, moments, share, top, left). The moments are written."""
        p, steps, place = self.p, self.steps, self.placing()
        find = moments_of(steps, LANES, RUN // LANES)

        @script
        def tell(values, moments, share, top, left):  # type: ignore[no-untyped-def]
            found = register_tensor(f32, (steps, 2))
            find(values, found)
            if threadIdx.x % (RUN // LANES) == 0:
                for step in unroll(steps):
                    row, column = place(step, share)
                    for which in vectorize(2):
                        at = p.c_at(0, top + row, (left + column) // RUN)
                        moments.put(*at, which, found[step, which])

        return tell
