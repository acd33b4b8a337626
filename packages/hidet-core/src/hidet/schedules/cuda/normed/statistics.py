"""Partial normalisation statistics: moments of runs of rows, and rows' mean and scale (sm_90a).

The neighbouring lanes that have elements of one row divide its runs and combine them (Chan et al.
1983), while the first tiles are loaded.
"""

from __future__ import annotations

from hidet.lang import (
    Global,
    Int,
    Registers,
    cdiv,
    f32,
    part,
    record,
    register_tensor,
    rsqrt,
    static,
    vectorize,
)
from hidet.lang.cuda import shfl_xor_sync, threadIdx
from hidet.lang.memory import get
from hidet.mapping.fragments import mma_c
from hidet.ops.reductions.partial_statistics import RUN
from hidet.schedules.product import Product
from hidet.target import WARP

ALL = 0xFFFFFFFF
"""All lanes of a warp."""


@record
class Statistics:
    """Those of a thread's rows, of each of which `lanes` neighbouring lanes have elements: with
    the fragments of warpgroups two rows, and four lanes of each."""

    p: Product
    runs: int
    eps: float
    moments: Global
    rows: int = 2
    lanes: int = 4

    @property
    def held(self) -> tuple[int, int, int]:
        """The shape in registers of the moments that a thread has of its rows."""
        return self.rows, cdiv(self.runs, self.lanes), 2

    @part
    def load(self, held: Registers, number: Int, row: Int) -> None:
        """Loads of a thread's share of the runs of a row, its own as `number`, are started; zeros
        where there are fewer."""
        for run in static(range(self.held[1])):
            for which in vectorize(2):
                at = self.p.c_at(0, row, run * self.lanes + threadIdx.x % self.lanes)
                held[number, run, which] = get(self.moments, *at, which)

    @part
    def combine(self, held: Registers, mean: Registers, scale: Registers) -> None:
        """Mean and scale of a thread's rows."""
        rows, lanes, runs = self.rows, self.lanes, self.runs
        total = register_tensor(f32, (rows,), init=0)
        for number, run in static(pairs(rows, self.held[1])):
            total[number] += held[number, run, 0]
        add_across(total, rows, lanes)
        for number in static(range(rows)):
            mean[number] = total[number] * (1 / runs)
            total[number] = 0.0
        for number, run in static(pairs(rows, self.held[1])):
            away = held[number, run, 0] - mean[number]
            if run * lanes + threadIdx.x % lanes < runs:
                total[number] += held[number, run, 1] + away * away * RUN
        add_across(total, rows, lanes)
        for number in static(range(rows)):
            scale[number] = rsqrt(total[number] * (1 / (runs * RUN)) + self.eps)

    @part
    def find(self, mean: Registers, scale: Registers, top: Int) -> None:
        """For warpgroups: mean and scale of the rows of a thread's accumulators."""
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        held = register_tensor(f32, self.held)
        for half in static(range(2)):
            self.load(held, half, top + warp * 16 + mma_c().task(lane, half * 2)[0])
        self.combine(held, mean, scale)


def pairs(rows: int, columns: int) -> list[tuple[int, int]]:
    """All indices of so many rows and columns."""
    return [(i, j) for i in range(rows) for j in range(columns)]


@part
def add_across(values: Registers, count: int, lanes: int) -> None:
    """Each of `count` values is summed over `lanes` neighbouring lanes."""
    for step in static(range(lanes.bit_length() - 1)):
        for number in static(range(count)):
            values[number] += shfl_xor_sync(ALL, values[number], 1 << step)


@part
def find_moments(values: Registers, found: Registers, lanes: int) -> None:
    """The moments of runs, of which `lanes` neighbouring lanes have some values each:
    `values[run, value]` to `found[run, 2]`."""
    count, each = values.shape
    total = register_tensor(f32, (count,), init=0)
    for number, v in static(pairs(count, each)):
        total[number] += values[number, v]
    add_across(total, count, lanes)
    for number in static(range(count)):
        found[number, 0] = total[number] * (1 / RUN)
        total[number] = 0.0
    for number, v in static(pairs(count, each)):
        away = values[number, v] - found[number, 0]
        total[number] += away * away
    add_across(total, count, lanes)
    for number in static(range(count)):
        found[number, 1] = total[number]
