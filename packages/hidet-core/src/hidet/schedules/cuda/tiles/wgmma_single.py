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
    record,
    register_tensor,
    static,
    unroll,
)
from hidet.lang.cuda import (
    fence_proxy_async,
    threadIdx,
    wgmma,
    wgmma_commit_group,
    wgmma_fence,
    wgmma_wait_group,
)
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.tiles.main_loop import Operands, Products
from hidet.schedules.cuda.tiles.mma_single import PRODUCTS, PartWarps, in_parts
from hidet.schedules.cuda.tiles.mma_tf32 import VECTOR
from hidet.schedules.cuda.tiles.part_tiles import PartSide
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

    def divides_evenly(self) -> bool:
        """A warpgroup has 64 rows, and all of the columns."""
        return self.block[0] == self.warps[0] * 16

    def side(self, p: Contraction, left: bool) -> PartSide:
        shape = self.extent(left), self.depth
        return PartSide(p, left, *shape, self.threads, VECTOR, f32, 0)

    def registers(self, p: Contraction) -> int:
        """Accumulators of all tiles and of one, what is in flight, and indices."""
        return self.block[1] + self.staging(p) + 64

    def least_registers(self, p: Contraction) -> int:
        """As many: fragments stay in shared memory."""
        return self.registers(p)

    def rate(self, p: Contraction, target: Target) -> float:
        peak = target.peak_flops(self.unit(p), True) / target.cores
        return peak / target.measured.wgmma.contention

    def fragment_bytes(self, p: Contraction) -> float:
        """Tensor cores read operands from shared memory, once for each of three products."""
        rows, columns = self.block
        return rows // 64 * PRODUCTS * (64 + columns) * self.depth * f32.nbytes

    def waits(self, target: Target) -> tuple[float, float]:
        """The next tiles arrive while tensor cores multiply in the background."""
        return target.measured.memory_latency, 0.0

    @part
    def products(self) -> Products:
        found = register_tensor(f32, self.accumulators)
        return InBackground(self, found)


@record
class InBackground(Products):
    """Those of a pair of tiles run while the next one comes apart."""

    found: Registers
    """The accumulators of one pair of tiles."""
    in_background = True

    @part
    def store(self, operands: Operands, staging: Any, buffer: Int) -> None:
        operands.a.side.store_parts(operands.a, staging[0], buffer)
        operands.b.side.store_parts(operands.b, staging[1], buffer)
        fence_proxy_async("shared::cta")

    @part
    def multiply(self, operands: Operands, accumulators: Registers, buffer: Int) -> None:
        """The small ones come first, while what the units cut off of their sums is small, too."""
        a, b, depth = operands.a, operands.b, self.point.depth
        shape, steps = f"m64n{self.point.block[1]}k{STEP}", depth // STEP
        large_a, small_a = a.side.descriptors(a.tiles, buffer, threadIdx.x // WARPGROUP * 64)
        large_b, small_b = b.side.descriptors(b.tiles, buffer, 0)
        pairs = ((small_a, large_b), (large_a, small_b), (large_a, large_b))
        wgmma_fence(self.found)
        for step in static(range(len(pairs) * steps)):
            left, right = pairs[step // steps]
            deep = step % steps * STEP * f32.nbytes
            wgmma(left.advance(deep), right.advance(deep), self.found, shape, add=step > 0)
        wgmma_commit_group()

    @part
    def finish(self, accumulators: Registers) -> None:
        wgmma_wait_group(0, self.found)
        for at in unroll(grid(*self.found.shape)):
            accumulators[*at] += self.found[*at]


def by_warpgroups_in_parts(p: Contraction, target: Target) -> bool:
    """Whether warpgroups may multiply these float32 operands, and not in tf32 alone."""
    return in_parts(p, target) and target.has_feature("wgmma")
