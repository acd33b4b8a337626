"""Small-M matmuls on CUDA cores, in full precision (`reading.py`)."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.ir.expr import Value
from hidet.lang import (
    Int,
    Registers,
    Shared,
    cast,
    grid,
    part,
    register_tensor,
    unroll,
    vectorize,
)
from hidet.lang.cuda import threadIdx
from hidet.lang.memory import get
from hidet.mapping import col_spatial, spatial
from hidet.schedules.cuda.lane_reduction import LaneReduction
from hidet.schedules.cuda.small_m.reading import Reading, Step
from hidet.target import WARP

LANES = (1, 2, 4, 8, 16)
"""How far apart the lanes are that differ in one bit."""


@dataclass(frozen=True)
class ThreadReading(Reading):
    """Threads of a warp read along k where neighbours lie along k, else across."""

    @property
    def depth(self) -> int:
        return self.vector if self.p.b_along_k else self.point.pieces

    @property
    def width(self) -> int:
        return self.point.pieces if self.p.b_along_k else self.vector

    @property
    def accumulators(self) -> tuple[int, ...]:
        return (self.rows * self.width,)

    def place(self) -> tuple[Value, Value]:
        beside = spatial if self.p.b_along_k else col_spatial
        across, along = beside(self.point.across, self.point.along).task(threadIdx.x)
        return across, along

    @property
    def lanes(self) -> LaneReduction:
        """The lanes of a warp that read parts of the same columns."""
        first, last = (1, self.point.along) if self.p.b_along_k else (self.point.across, WARP)
        return LaneReduction(
            self.accumulators[0], tuple(lane for lane in LANES if first <= lane < last)
        )

    @property
    def parts(self) -> int:
        return self.point.along >> len(self.lanes.distances)

    @part
    def multiply(self, here: Step, loaded: Registers, accumulators: Registers) -> None:
        for i in unroll(self.rows):
            row = self.row_of(here, i)
            for number, v in unroll(grid(self.vectors, self.vector)):
                deep, right = self.at(number, v)
                value = cast(loaded[here.number, deep, right], self.p.wide)
                accumulators[i * self.width + right] += row[deep] * value

    @part
    def row_of(self, here: Step, i: Int) -> Registers:
        """The elements of row i of a that a thread multiplies at a step."""
        row = register_tensor(self.p.wide, (self.depth,))
        for deep in vectorize(self.depth):
            at = self.p.a_at(here.z, i, here.first + deep)
            row[deep] = cast(get(here.a, *at), self.p.wide)
        return row

    @part
    def store(self, accumulators: Registers, parts: Shared) -> None:
        lanes, threads = self.lanes, self.point.along // self.parts
        lanes.reduce(accumulators)
        own, along = self.place()
        if lanes.alone(threadIdx.x):
            for number in unroll(lanes.held):
                at = lanes.first(threadIdx.x) + number
                column = own * self.width + at % self.width
                parts[along // threads, 0, at // self.width, column] = accumulators[number]
