"""Tiles of float32 by warpgroups (sm_90a) at full precision, by 3xTF32.

Threads bring the next tiles through registers, where they come apart into two parts, while the
warpgroups' products of the last ones run in the background. See `two_parts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hidet.lang import (
    Int,
    Registers,
    f32,
    grid,
    part,
    register_tensor,
    static,
    unroll,
)
from hidet.lang.cuda import (
    fence_proxy_async,
    syncthreads,
    threadIdx,
    wgmma,
    wgmma_commit_group,
    wgmma_fence,
    wgmma_wait_group,
)
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.tiles.mma_single import PRODUCTS, PartWarps, in_parts
from hidet.schedules.cuda.tiles.mma_tf32 import VECTOR
from hidet.schedules.cuda.tiles.part_tiles import PartSide
from hidet.schedules.cuda.tiles.staging import Source
from hidet.schedules.space import choice
from hidet.target import WARPGROUP, Target

STEP = 8
"""How much of k one instruction multiplies."""


@dataclass(frozen=True)
class PartWarpgroups(PartWarps):
    """A block's tile of the result, its depth, how many blocks share k."""

    block: tuple[int, int] = choice(
        (128, 128), (64, 128), (128, 64), (64, 64), (128, 32), (64, 32)
    )  # fmt: skip
    depth: int = choice(32)
    warps: tuple[int, int] = choice((4, 1), (8, 1))
    slices: int = choice(1, 2, 3, 4, 6, 8)

    def shaped(self) -> bool:
        """A warpgroup has 64 rows, and all of the columns."""
        return self.block[0] == self.warps[0] * 16

    def sides(self, p: Contraction) -> tuple[PartSide, PartSide]:
        a, b = (
            PartSide(p, left, extent, self.depth, self.threads, VECTOR, f32, 0)
            for left, extent in ((True, self.block[0]), (False, self.block[1]))
        )
        return a, b

    def registers(self, p: Contraction) -> int:
        """Accumulators of all tiles and of one, tiles in flight, and indices."""
        flight = sum(self.block) * self.depth // self.threads
        if p.scattered:
            flight += self.block[1] * self.depth // self.threads
        return self.block[1] + flight + 64

    def least_registers(self, p: Contraction) -> int:
        """As many: fragments stay in shared memory."""
        return self.registers(p)

    def busy(self) -> float:
        """Three matmuls of tf32 stand for one."""
        return 1.0 / PRODUCTS

    def turn_seconds(self, p: Contraction, target: Target, together: int) -> float:
        """All that a block moves goes through its multiprocessor's shared memory and first cache:
        that takes longer than the products."""
        times, (rows, columns) = target.measured.parts, self.block
        brought = (rows + columns) * self.depth
        read = rows // 64 * PRODUCTS * (64 + columns) * self.depth
        moved = (brought * 3 + read) * f32.nbytes / times.shared
        found = columns * self.depth * times.found if p.scattered else 0.0
        return max(times.latency, times.turn + together * (moved + found))

    @part
    def add_up(self, a: Source, b: Source, sums: Registers, first: Int, turns: Any) -> None:
        in_background(a, b, self, sums, first, turns)

    @part
    def start(self, a: Source, b: Source, found: Registers, number: Int) -> None:
        """The products of a pair of tiles begin.

        The small ones come first, while what the units cut off of their sums is small, too.
        """
        shape, steps = f"m64n{self.block[1]}k{STEP}", self.depth // STEP
        large_a, small_a = a.side.descriptors(a.tiles, number, threadIdx.x // WARPGROUP * 64)
        large_b, small_b = b.side.descriptors(b.tiles, number, 0)
        pairs = ((small_a, large_b), (large_a, small_b), (large_a, large_b))
        wgmma_fence(found)
        for step in static(range(len(pairs) * steps)):
            left, right = pairs[step // steps]
            deep = step % steps * STEP * f32.nbytes
            wgmma(left.advance(deep), right.advance(deep), found, shape, add=step > 0)
        wgmma_commit_group()


@part
def in_background(
    a: Source, b: Source, point: PartWarpgroups, sums: Registers, first: Int, turns: Any
) -> None:
    """The main loop where products of a pair of tiles run while the next one comes apart."""
    side_a, side_b, depth = a.side, b.side, point.depth
    flight_a, flight_b = side_a.flight(), side_b.flight()
    found = register_tensor(f32, point.sums)
    side_a.fetch(a, flight_a, first)
    side_b.fetch(b, flight_b, first)
    side_a.place_parts(a, flight_a, 0)
    side_b.place_parts(b, flight_b, 0)
    fence_proxy_async("shared::cta")
    syncthreads()
    if turns > 1:
        side_a.fetch(a, flight_a, first + depth)
        side_b.fetch(b, flight_b, first + depth)
    for turn in range(turns):
        point.start(a, b, found, turn % 2)
        if turn + 1 < turns:
            side_a.place_parts(a, flight_a, (turn + 1) % 2)
            side_b.place_parts(b, flight_b, (turn + 1) % 2)
            fence_proxy_async("shared::cta")
        if turn + 2 < turns:
            side_a.fetch(a, flight_a, first + (turn + 2) * depth)
            side_b.fetch(b, flight_b, first + (turn + 2) * depth)
        wgmma_wait_group(0, found)
        for at in unroll(grid(*point.sums)):
            sums[*at] += found[*at]
        syncthreads()


def by_warpgroups_in_parts(p: Contraction, target: Target) -> bool:
    """Whether warpgroups may multiply these float32 operands, and not in tf32 alone."""
    return in_parts(p, target) and target.has_feature("wgmma")
