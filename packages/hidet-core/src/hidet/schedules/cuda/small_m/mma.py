"""Small-M matmuls of half precision on tensor cores, which take 8 rows at once.

Columns of b are the 16 rows of the first operand of `mma.sync` (`reading.py`), rows of a are the 8
columns of the second. The order of k does not matter to a sum: a thread passes to `mma.sync` the
elements that it reads at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet.ir.expr import Value
from hidet.lang import (
    Registers,
    Shared,
    address,
    grid,
    part,
    register_tensor,
    unroll,
    vectorize,
)
from hidet.lang.cuda import mma_sync, threadIdx
from hidet.lang.memory import get
from hidet.mapping import col_spatial
from hidet.mapping.fragments import ROW_LANES, mma_c
from hidet.schedules.cuda.small_m.reading import Reading, Step
from hidet.target import WARP

AT_ONCE = 4
"""Elements along k that one `mma.sync` takes of a thread, of each of two columns and one row."""
QUAD = 4
"""Lanes with parts of the same columns."""


@dataclass(frozen=True)
class WarpReading(Reading):
    """Lanes of a warp read 8 columns, or 8 vectors of them, and four parts along k of each."""

    @property
    def depth(self) -> int:
        return self.vector if self.p.b_along_k else AT_ONCE

    @property
    def width(self) -> int:
        return 2 * self.point.pieces if self.p.b_along_k else self.vector

    @property
    def parts(self) -> int:
        return self.point.along // QUAD

    @property
    def accumulators(self) -> tuple[int, ...]:
        return self.width // 2, 4

    def place(self) -> tuple[Value, Value]:
        warps = col_spatial(self.point.warps // self.parts, self.parts)
        across, along = (warps * ROW_LANES).task(threadIdx.x)
        return across, along

    @part
    def multiply(self, here: Step, loaded: Registers, accumulators: Registers) -> None:
        p, depth = self.p, self.depth
        row_of_a = ROW_LANES.task(threadIdx.x % WARP)[0]
        row = register_tensor(p.a.dtype, (depth,))
        for deep in vectorize(depth):
            row[deep] = get(here.a, *p.a_at(here.z, row_of_a, here.first + deep))
        for some, pair in unroll(grid(depth // AT_ONCE, self.width // 2)):
            columns = register_tensor(p.a.dtype, (2 * AT_ONCE,))
            for e in unroll(2 * AT_ONCE):
                deep = some * AT_ONCE + e // 4 * 2 + e % 2
                columns[e] = loaded[here.number, deep, pair * 2 + e // 2 % 2]
            own_row = address(row, some * AT_ONCE)
            mma_sync(address(columns, 0), own_row, address(accumulators, pair, 0))

    @part
    def store(self, accumulators: Registers, parts: Shared) -> None:
        own, along = self.place()
        for pair, e in unroll(grid(self.width // 2, 4)):
            i = mma_c().task(threadIdx.x % WARP, 0)[1] + e % 2
            if i < self.rows:
                column = own * self.width + pair * 2 + e // 2
                parts[along // QUAD, 0, i, column] = accumulators[pair, e]
