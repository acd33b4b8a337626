"""Tiles of float32 on tensor cores at full precision: three products of tf32, see `two_parts`.

Sums of the units are short: ordinary additions bring them together.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet import options
from hidet.lang import (
    ScriptFunction,
    f32,
    grid,
    register_tensor,
    script,
    shared_tensor,
    tf32,
    unroll,
)
from hidet.lang.cuda import threadIdx
from hidet.mapping.fragments import mma_a, mma_b, mma_c
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.finite import unless_finite
from hidet.schedules.cuda.mma_tf32 import SingleWarps, bringing
from hidet.schedules.cuda.staging import Side
from hidet.schedules.cuda.tile import in_registers
from hidet.schedules.cuda.two_parts import adding, dividing
from hidet.schedules.space import choice
from hidet.target import WARP, Target
from hidet.types import DType

SHORT = 16
"""How much of k the units sum up before ordinary additions take over."""
PRODUCTS = 3
REACHED = 0.7
"""The part of the rate at which tensor cores are fed that they reach by `mma.sync`; measured on an
H200."""


@dataclass(frozen=True)
class PartWarps(SingleWarps):
    """A block's tile of the result, its depth, how warps divide it, how many blocks share k."""

    depth: int = choice(32)

    def held(self) -> DType:
        """Whole numbers, which warps divide into parts."""
        return f32

    def registers(self, p: Contraction) -> int:
        """Sums of all tiles and of one, fragments in two parts, tiles in flight, and indices."""
        rows, columns = self.part
        return rows * columns // WARP + (rows + columns) * 8 // WARP + super().registers(p)

    def busy(self) -> float:
        """Three products stand for one."""
        return REACHED / PRODUCTS

    def multiplication(self, p: Contraction) -> ScriptFunction:
        """Each warp adds the product of its parts of two tiles to its sums."""
        return multiplication(*self.sides(p), self)

    def gathering(self, p: Contraction) -> ScriptFunction:
        """The main loop, and once more on CUDA cores where that gave no number."""
        side_a, side_b = self.sides(p)
        fast = self.looping(side_a, side_b, self.multiplication(p))
        plain = self.looping(side_a, side_b, ordinary(side_a, side_b, self))
        add = unless_finite(fast, plain, self.sums)

        @script
        def gather(a, b, sums, z, top, left, first, turns):  # type: ignore[no-untyped-def]
            tiles_a = shared_tensor(f32, (self.buffers, *side_a.padded))
            tiles_b = shared_tensor(f32, (self.buffers, *side_b.padded))
            add(a, b, tiles_a, tiles_b, sums, z, top, left, first, turns)

        return gather

    def looping(self, a: Side, b: Side, multiply: ScriptFunction) -> ScriptFunction:
        """A part of a kernel: (a, b, tiles_a, tiles_b, sums, z, top, left, first, turns)."""
        return in_registers(a, b, multiply)


def in_parts(p: Contraction, target: Target) -> bool:
    """Whether tensor cores may multiply these float32 operands in full precision, and pay."""
    single = p.a.dtype is f32 and p.b.dtype is f32 and p.c.dtype is f32 and not p.empty
    allowed = options.mma.get() == "mma" and not options.tf32.get()
    return single and allowed and target.has_feature("mma_tf32") and pays(target)


def pays(target: Target) -> bool:
    """Whether three products on tensor cores take less time than one on CUDA cores."""
    return target.peak_flops(tf32.name, True) > PRODUCTS * target.peak_flops(f32.name)


def multiplication(a_side: Side, b_side: Side, point: PartWarps) -> ScriptFunction:
    """A part of a kernel: each warp adds the product of its parts of two tiles to its sums."""
    rows, columns = point.part
    many_a, many_b = rows // 16, columns // 8
    bring = bringing(a_side, b_side, many_a, many_b)
    divide_a, divide_b, add = dividing(many_a, 4), dividing(many_b, 2), adding(many_a, many_b)

    @script
    def multiply(tiles_a, tiles_b, sums, number):  # type: ignore[no-untyped-def]
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        row = warp // point.warps[1] * rows + mma_a(32).task(lane, 0)[0]
        column = warp % point.warps[1] * columns + mma_b(32).task(lane, 0)[1]
        for short in unroll(point.depth // SHORT):
            found = register_tensor(f32, (many_a, many_b, 4), init=0.0)
            for deep in unroll(SHORT // 8):
                first = short * SHORT + deep * 8 + mma_a(32).task(lane, 0)[1]
                part_a = register_tensor(f32, (many_a, 4))
                large_a = register_tensor(tf32, (many_a, 4))
                small_a = register_tensor(tf32, (many_a, 4))
                part_b = register_tensor(f32, (many_b, 2))
                large_b = register_tensor(tf32, (many_b, 2))
                small_b = register_tensor(tf32, (many_b, 2))
                bring(tiles_a, tiles_b, part_a, part_b, number, row, column, first)
                divide_a(part_a, large_a, small_a)
                divide_b(part_b, large_b, small_b)
                add(large_a, small_a, 0, large_b, small_b, found, found, 0)
            for i, j, e in unroll(grid(many_a, many_b, 4)):
                sums[i, j, e] += found[i, j, e]

    return multiply


def ordinary(a_side: Side, b_side: Side, point: PartWarps) -> ScriptFunction:
    """The same in float32, element by element."""
    rows, columns = point.part

    @script
    def multiply(tiles_a, tiles_b, sums, number):  # type: ignore[no-untyped-def]
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        row = warp // point.warps[1] * rows + mma_c().task(lane, 0)[0]
        column = warp % point.warps[1] * columns + mma_c().task(lane, 0)[1]
        for r in range(point.depth):
            for i, j, e in unroll(grid(rows // 16, columns // 8, 4)):
                down, right = row + i * 16 + e // 2 * 8, column + j * 8 + e % 2
                left = (down, r) if a_side.along_k else (r, down)
                other = (right, r) if b_side.along_k else (r, right)
                sums[i, j, e] += tiles_a[number, *left] * tiles_b[number, *other]

    return multiply
