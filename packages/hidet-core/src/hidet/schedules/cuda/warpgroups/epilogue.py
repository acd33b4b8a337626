"""The epilogue of a contraction by warpgroups: accumulators are written by whole cache lines."""

from __future__ import annotations

from math import gcd
from typing import Any

from hidet.lang import Int, Registers, cast, part, record, register_tensor, static, vectorize
from hidet.lang.cuda import threadIdx
from hidet.lang.memory import from_accumulators, get
from hidet.mapping.fragments import mma_c
from hidet.schedules.base import AccumulatorEpilogue
from hidet.schedules.contraction import Contraction, Index
from hidet.schedules.cuda.warpgroups.groups import accumulator_type
from hidet.schedules.cuda.warpgroups.staged_store import LANES, ROWS, StagedStore
from hidet.schedules.cuda.warpgroups.tile_order import Tile
from hidet.target import WARP
from hidet.types import DType


@record
class TileEpilogue(StagedStore):
    """Accumulators get their bias and what fusion adds, and become rows of the result."""

    p: Contraction
    bias: Any
    early: DType | None
    """The type of the registers into which a tile's bias is prefetched, if it is."""
    after: AccumulatorEpilogue | None
    """What is computed on accumulators in float32, before they are rounded."""

    def at(self, z: Any, i: Any, j: Any) -> Index:
        return self.p.c_at(z, i, j)

    @part
    def registers(self) -> Any:
        """Registers for the bias of a thread's own columns, or the bias in memory."""
        held = register_tensor(self.early, (self.columns // 8, 2)) if self.early else self.bias
        return held

    @part
    def prefetch(self, held: Any, tile: Tile) -> None:
        """For warpgroups: loads of the bias are started, if there are registers for it."""
        if self.early:
            own, lane = mma_c(ROWS, self.columns), threadIdx.x % WARP
            for block in static(range(self.columns // 8)):
                for pair in vectorize(2):
                    _, column = own.task(lane, block, 0, pair)
                    at = self.p.bias_at(tile.z, tile.top, tile.left + column)
                    held[block, pair] = get(self.bias, *at)

    @part
    def fill(
        self, held: Registers, number: int, block: int, accumulators: Registers, of: Any, lane: Int,
        own: Tile,
    ) -> None:  # fmt: skip
        p, task = self.p, mma_c(ROWS, self.columns).task
        for pair in vectorize(2):
            at = (own.top + task(lane, 0)[0], own.left + task(lane, block, 0, pair)[1])
            if p.bias is not None:
                found = of[block, pair] if self.early else get(of, *p.bias_at(own.z, *at))
                shift = cast(found, accumulator_type(p.a.dtype))
            for half in static(range(2)):
                total = accumulators[block * 4 + half * 2 + pair]
                if p.bias is not None:
                    total += shift
                held[number, half, pair] = self.made(own.z, at[0] + half * 8, at[1], total)

    def made(self, z: Any, i: Any, j: Any, total: Any) -> Any:
        """The element of the result at row i and column j, of its accumulator."""
        if self.after is None:
            return cast(total, self.c.dtype)
        return from_accumulators(self.c, self.at(z, i, j), total)


def vector_width(p: Contraction) -> int:
    """How many neighbours in a row of the result a lane writes at once."""
    return gcd(p.n, LANES) if isinstance(p.n, int) else LANES
