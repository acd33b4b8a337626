"""Small-M matmuls on CUDA cores, in full precision (`rows.py`)."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.ir.expr import Value
from hidet.lang import ScriptFunction, cast, cdiv, grid, register_tensor, script, unroll, vectorize
from hidet.lang.cuda import threadIdx
from hidet.lang.memory import get
from hidet.schedules.cuda.small_m.lane_sums import LaneSums
from hidet.schedules.cuda.small_m.reading import Reading
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
    def sums(self) -> tuple[int, ...]:
        return (self.rows * self.width,)

    def place(self) -> tuple[Value, Value]:
        along, across = self.point.along, self.point.across
        if self.p.b_along_k:
            return threadIdx.x // along, threadIdx.x % along
        return threadIdx.x % across, threadIdx.x // across

    @property
    def lanes(self) -> LaneSums:
        """The lanes of a warp that read parts of the same columns."""
        first, last = (1, self.point.along) if self.p.b_along_k else (self.point.across, WARP)
        return LaneSums(self.sums[0], tuple(lane for lane in LANES if first <= lane < last))

    @property
    def parts(self) -> int:
        return self.point.along >> len(self.lanes.distances)

    def gathering(self) -> ScriptFunction:
        p, point, rows, width, depth = self.p, self.point, self.rows, self.width, self.depth
        turns = cdiv(p.k, self.turn * point.slices)

        @script
        def gather(a, b, sums, z, left, share):  # type: ignore[no-untyped-def]
            own, part = self.place()
            j = left + own * width
            for turn in range(turns):
                first = (share * turns + turn) * self.turn + part * depth
                held = register_tensor(p.b.dtype, (point.steps, self.vectors, self.vector))
                for step, number in unroll(grid(point.steps, self.vectors)):
                    for v in vectorize(self.vector):
                        deep, right = self.at(number, v)
                        at = p.b_at(z, first + step * self.step + deep, j + right)
                        held[step, number, v] = get(b, *at)
                for step, i in unroll(grid(point.steps, rows)):
                    row = register_tensor(p.wide, (depth,))
                    for deep in vectorize(depth):
                        at = p.a_at(z, i, first + step * self.step + deep)
                        row[deep] = cast(get(a, *at), p.wide)
                    for number, v in unroll(grid(self.vectors, self.vector)):
                        deep, right = self.at(number, v)
                        value = cast(held[step, number, v], p.wide)
                        sums[i * width + right] += row[deep] * value

        return gather

    def telling(self) -> ScriptFunction:
        lanes = self.lanes
        add, threads = lanes.adding(), self.point.along // self.parts

        @script
        def tell(sums, parts):  # type: ignore[no-untyped-def]
            add(sums)
            own, part = self.place()
            if lanes.alone(threadIdx.x):
                for number in unroll(lanes.held):
                    at = lanes.first(threadIdx.x) + number
                    column = own * self.width + at % self.width
                    parts[part // threads, at // self.width, column] = sums[number]

        return tell
