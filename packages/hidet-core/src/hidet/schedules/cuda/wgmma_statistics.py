"""Partial normalisation statistics: moments of runs of rows, and rows' mean and scale (sm_90a).

Lanes side by side, which have sums of one row, share its runs and put them together (Chan et al.
1983), while the first tiles are on their way.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet.lang import ScriptFunction, cdiv, f32, register_tensor, rsqrt, script, static, vectorize
from hidet.lang.cuda import shfl_xor_sync, threadIdx
from hidet.lang.memory import get
from hidet.mapping.fragments import mma_c
from hidet.ops.handed_norm import RUN
from hidet.schedules.product import Product
from hidet.target import WARP

ALL = 0xFFFFFFFF
"""All lanes of a warp."""


def across(count: int, lanes: int) -> ScriptFunction:
    """A part of a kernel: (values). Each of `count` is summed over `lanes` lanes side by side."""
    distances = [1 << step for step in range(lanes.bit_length() - 1)]

    @script
    def add(values):  # type: ignore[no-untyped-def]
        for distance in static(distances):
            for number in static(range(count)):
                values[number] += shfl_xor_sync(ALL, values[number], distance)

    return add


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


@dataclass(frozen=True)
class Statistics:
    """Those of a thread's rows, of each of which `lanes` lanes side by side have sums.

    By themselves warpgroups have sums of two rows, four lanes of each.
    """

    p: Product
    runs: int
    eps: float
    rows: int = 2
    lanes: int = 4

    @property
    def held(self) -> tuple[int, int, int]:
        """The shape in registers of the moments that a thread has of its rows."""
        return self.rows, cdiv(self.runs, self.lanes), 2

    def bringing(self) -> ScriptFunction:
        """A part of a kernel: (moments, held, number, row). Those of a thread's share of the runs
        of a row, its own as `number`; zeros where there are fewer."""
        p, lanes, each = self.p, self.lanes, self.held[1]

        @script
        def bring(moments, held, number, row):  # type: ignore[no-untyped-def]
            for turn in static(range(each)):
                for which in vectorize(2):
                    at = p.c_at(0, row, turn * lanes + threadIdx.x % lanes)
                    held[number, turn, which] = get(moments, *at, which)

        return bring

    def combining(self) -> ScriptFunction:
        """A part of a kernel: (held, mean, scale)."""
        rows, lanes, runs, eps = self.rows, self.lanes, self.runs, self.eps
        places = [(number, turn) for number in range(rows) for turn in range(self.held[1])]
        add = across(rows, lanes)

        @script
        def combine(held, mean, scale):  # type: ignore[no-untyped-def]
            total = register_tensor(f32, (rows,), init=0)
            for number, turn in static(places):
                total[number] += held[number, turn, 0]
            add(total)
            for number in static(range(rows)):
                mean[number] = total[number] * (1 / runs)
                total[number] = 0.0
            for number, turn in static(places):
                away = held[number, turn, 0] - mean[number]
                if turn * lanes + threadIdx.x % lanes < runs:
                    total[number] += held[number, turn, 1] + away * away * RUN
            add(total)
            for number in static(range(rows)):
                scale[number] = rsqrt(total[number] * (1 / (runs * RUN)) + eps)

        return combine

    def of_two_rows(self) -> ScriptFunction:
        """A part of a kernel, for warpgroups: (moments, mean, scale, top). Those of the rows of
        which a thread has sums."""
        bring, combine = self.bringing(), self.combining()

        @script
        def find(moments, mean, scale, top):  # type: ignore[no-untyped-def]
            lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
            held = register_tensor(f32, self.held)
            for half in static(range(2)):
                bring(moments, held, half, top + warp * 16 + mma_c().task(lane, half * 2)[0])
            combine(held, mean, scale)

        return find
