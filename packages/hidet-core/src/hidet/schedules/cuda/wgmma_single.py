"""Tiles of float32 by warpgroups (sm_90a) at full precision, by 3xTF32.

Threads bring the next tiles through registers, where they come apart into two parts, while the
warpgroups' products of the last ones run in the background. See `two_parts`.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet.lang import (
    ScriptFunction,
    cast,
    f32,
    grid,
    register_tensor,
    script,
    shared_tensor,
    static,
    tf32,
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
from hidet.mapping.fragments import mma_c
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.finite import unless_finite
from hidet.schedules.cuda.mma_single import PRODUCTS, PartWarps, in_parts
from hidet.schedules.cuda.mma_tf32 import VECTOR
from hidet.schedules.cuda.part_tiles import PartSide
from hidet.schedules.cuda.tile import in_registers
from hidet.schedules.space import choice
from hidet.target import WARP, WARPGROUP, Target

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

    def gathering(self, p: Contraction) -> ScriptFunction:
        """The main loop, and once more on CUDA cores where that gave no number."""
        side_a, side_b = self.sides(p)
        fast = in_background(side_a, side_b, self)
        plain = in_registers(side_a, side_b, ordinary(self))
        add = unless_finite(fast, plain, self.sums)

        @script
        def gather(a, b, sums, z, top, left, first, turns):  # type: ignore[no-untyped-def]
            tiles_a = shared_tensor(tf32, (2, *side_a.padded), side_a.layout(2))
            tiles_b = shared_tensor(tf32, (2, *side_b.padded), side_b.layout(2))
            add(a, b, tiles_a, tiles_b, sums, z, top, left, first, turns)

        return gather


def in_background(side_a: PartSide, side_b: PartSide, point: PartWarpgroups) -> ScriptFunction:
    """A part of a kernel: (a, b, tiles_a, tiles_b, sums, z, top, left, first, turns)."""
    fetch_a, fetch_b = side_a.fetch(), side_b.fetch()
    place_a, place_b = side_a.place_parts(), side_b.place_parts()
    start, depth = starting(side_a, side_b, point), point.depth

    @script
    def turn_by_turn(a, b, tiles_a, tiles_b, sums, z, top, left, first, turns):  # type: ignore[no-untyped-def]
        flight_a = register_tensor(f32, (side_a.steps, side_a.vector))
        flight_b = register_tensor(f32, (side_b.steps, side_b.vector))
        found = register_tensor(f32, point.sums)
        fetch_a(a, flight_a, z, top, first)
        fetch_b(b, flight_b, z, left, first)
        place_a(flight_a, tiles_a, 0)
        place_b(flight_b, tiles_b, 0)
        fence_proxy_async("shared::cta")
        syncthreads()
        if turns > 1:
            fetch_a(a, flight_a, z, top, first + depth)
            fetch_b(b, flight_b, z, left, first + depth)
        for turn in range(turns):
            start(tiles_a, tiles_b, found, turn % 2)
            if turn + 1 < turns:
                place_a(flight_a, tiles_a, (turn + 1) % 2)
                place_b(flight_b, tiles_b, (turn + 1) % 2)
                fence_proxy_async("shared::cta")
            if turn + 2 < turns:
                fetch_a(a, flight_a, z, top, first + (turn + 2) * depth)
                fetch_b(b, flight_b, z, left, first + (turn + 2) * depth)
            wgmma_wait_group(0, found)
            for at in unroll(grid(*point.sums)):
                sums[*at] += found[*at]
            syncthreads()

    return turn_by_turn


def starting(side_a: PartSide, side_b: PartSide, point: PartWarpgroups) -> ScriptFunction:
    """A part of a kernel: (tiles_a, tiles_b, found, number). The products of a pair of tiles begin.

    The small ones come first, while what the units cut off of their sums is small, too.
    """
    shape, steps = f"m64n{point.block[1]}k{STEP}", point.depth // STEP

    @script
    def start(tiles_a, tiles_b, found, number):  # type: ignore[no-untyped-def]
        large_a, small_a = side_a.descriptors(tiles_a, number, threadIdx.x // WARPGROUP * 64)
        large_b, small_b = side_b.descriptors(tiles_b, number, 0)
        pairs = ((small_a, large_b), (large_a, small_b), (large_a, large_b))
        wgmma_fence(found)
        for step in static(range(len(pairs) * steps)):
            left, right = pairs[step // steps]
            deep = step % steps * STEP * f32.nbytes
            wgmma(left.advance(deep), right.advance(deep), found, shape, add=step > 0)
        wgmma_commit_group()

    return start


def ordinary(point: PartWarpgroups) -> ScriptFunction:
    """The same in float32, element by element."""

    @script
    def multiply(tiles_a, tiles_b, sums, number):  # type: ignore[no-untyped-def]
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        row, column = warp * 16 + mma_c().task(lane, 0)[0], mma_c().task(lane, 0)[1]
        for r in range(point.depth):
            for _, j, e in unroll(grid(*point.sums)):
                left = cast(tiles_a[number, 0, row + e // 2 * 8, r], f32)
                sums[0, j, e] += left * cast(tiles_b[number, 0, column + j * 8 + e % 2, r], f32)

    return multiply


def by_warpgroups_in_parts(p: Contraction, target: Target) -> bool:
    """Whether warpgroups may multiply these float32 operands, and not in tf32 alone."""
    return in_parts(p, target) and target.has_feature("wgmma")
