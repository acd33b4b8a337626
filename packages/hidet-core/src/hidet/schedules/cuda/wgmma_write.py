"""The epilogue of warpgroups: accumulators are written by lines, or kept as split-K partials."""

from __future__ import annotations

from math import gcd
from typing import Any

from hidet.lang import (
    Int,
    Registers,
    ScriptFunction,
    cast,
    part,
    record,
    register_tensor,
    script,
    static,
    vectorize,
)
from hidet.lang.cuda import threadIdx
from hidet.lang.memory import get, settle
from hidet.mapping.fragments import mma_c, wgmma_c
from hidet.schedules.base import After
from hidet.schedules.contraction import Contraction, Index
from hidet.schedules.cuda.lines import LANES, ROWS, Lines
from hidet.schedules.cuda.tile_order import Tile
from hidet.schedules.cuda.warpgroups import Warpgroups, sum_type
from hidet.target import WARP, WARPGROUP
from hidet.types import DType


@record
class Sums(Lines):
    """The epilogue of a contraction: accumulators become lines of the result."""

    p: Contraction
    bias: Any
    early: DType | None
    """The type of the registers to which a tile's bias is under way ahead of its sums, if it is."""
    after: After | None
    """What is computed on sums in float32, ahead of their rounding."""

    def at(self, z: Any, i: Any, j: Any) -> Index:
        return self.p.c_at(z, i, j)

    @part
    def prefetch(self, tile: Tile) -> Any:
        """For warpgroups: the bias, where a tile's sums find it: under way to registers, for a
        thread's own columns, or in memory."""
        blocks, own = self.columns // 8, mma_c(ROWS, self.columns)
        held = register_tensor(self.early, (blocks, 2)) if self.early else self.bias
        if self.early:
            lane = threadIdx.x % WARP
            for block in static(range(blocks)):
                for pair in vectorize(2):
                    _, column = own.task(lane, block, 0, pair)
                    at = self.p.bias_at(tile.z, tile.top, tile.left + column)
                    held[block, pair] = get(self.bias, *at)
        return held

    @part
    def fill(
        self,
        held: Registers,
        beside: int,
        block: int,
        sums: Registers,
        of: Any,
        lane: Int,
        own: Tile,
    ) -> None:
        p, task = self.p, mma_c(ROWS, self.columns).task
        for pair in vectorize(2):
            at = (own.top + task(lane, 0)[0], own.left + task(lane, block, 0, pair)[1])
            if p.bias is not None:
                found = of[block, pair] if self.early else get(of, *p.bias_at(own.z, *at))
                shift = cast(found, sum_type(p))
            for half in static(range(2)):
                total = sums[block * 4 + half * 2 + pair]
                if p.bias is not None:
                    total += shift
                held[beside, half, pair] = self.made(own.z, at[0] + half * 8, at[1], total)

    def made(self, z: Any, i: Any, j: Any, total: Any) -> Any:
        """The element of the result at row i and column j, of its sum."""
        if self.after is None:
            return cast(total, self.c.dtype)
        return settle(self.c, self.at(z, i, j), total)


def neighbours_of(p: Contraction) -> int:
    """How many neighbours a lane writes."""
    return gcd(p.n, LANES) if isinstance(p.n, int) else LANES


def keeping(point: Warpgroups) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (sums, pile). The sums where others will add them up."""

    own = wgmma_c(point.columns)

    @script
    def keep(sums, pile):  # type: ignore[no-untyped-def]
        thread, part = threadIdx.x % WARPGROUP, threadIdx.x // WARPGROUP
        row = part * 64 + own.task(thread, 0)[0]
        for block, half in static([(b, h) for b in range(point.columns // 8) for h in range(2)]):
            for v in vectorize(2):
                (down, _), (_, column) = (
                    own.task(0, block, half, 0),
                    own.task(thread, block, half, v),
                )
                pile[0, 0, row + down, column] = sums[block * 4 + half * 2 + v]

    return keep
