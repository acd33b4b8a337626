"""Tiles of float32 on tensor cores at full precision: three products of tf32, see `two_parts`.

Tensor cores accumulate over a short part of k; float32 additions on CUDA cores do the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hidet import options
from hidet.lang import Int, Registers, cast, f32, grid, part, record, register_tensor, tf32, unroll
from hidet.lang.cuda import syncthreads_or, threadIdx
from hidet.mapping.fragments import mma_a, mma_b, mma_c
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.tiles.finite import clear, is_not_finite
from hidet.schedules.cuda.tiles.main_loop import Operands, Products, through_registers
from hidet.schedules.cuda.tiles.mma_tf32 import SingleWarps, load_fragments
from hidet.schedules.cuda.tiles.two_parts import add_products, divide, parts_of
from hidet.schedules.space import choice
from hidet.target import WARP, Target
from hidet.types import DType

SHORT = 16
"""Elements of k that tensor cores accumulate before float32 additions take over."""
PRODUCTS = 3


@dataclass(frozen=True)
class PartWarps(SingleWarps):
    """A block's tile of the result, its depth, how warps divide it, how many blocks share k."""

    depth: int = choice(32)

    def shared_dtype(self, p: Contraction) -> DType:
        """Whole numbers, which warps divide into parts."""
        return f32

    def registers(self, p: Contraction) -> int:
        """Accumulators of all tiles and of one, fragments in two parts, staging and indices."""
        rows, columns = self.warp_tile
        return rows * columns // WARP + (rows + columns) // 4 + super().registers(p)

    def least_registers(self, p: Contraction) -> int:
        """One part of fragments waits while the other is multiplied."""
        return self.registers(p) + sum(self.warp_tile) // 4

    def operations(self) -> float:
        """Three products of tf32 stand for one."""
        return PRODUCTS * super().operations()

    @part
    def accumulate(self, operands: Operands, accumulators: Registers, iterations: Any) -> None:
        """The main loop, and once more on CUDA cores where that gave no number."""
        through_registers(operands, self.products(), accumulators, iterations)
        if syncthreads_or(is_not_finite(accumulators)):
            clear(accumulators)
            through_registers(operands, PlainProducts(self), accumulators, iterations)

    @part
    def products(self) -> Products:
        """How the main loop multiplies: on tensor cores."""
        return Products(self)

    @part
    def multiply(self, operands: Operands, accumulators: Registers, buffer: Int) -> None:
        """Each warp adds the product of its parts of two tiles to its accumulators."""
        rows, columns = self.warp_tile
        many_a, many_b = rows // 16, columns // 8
        lane, (row, column) = threadIdx.x % WARP, self.corner(mma_a(32), mma_b(32))
        for short in unroll(self.depth // SHORT):
            found = register_tensor(f32, (many_a, many_b, 4), init=0.0)
            for deep in unroll(SHORT // 8):
                first = short * SHORT + deep * 8 + mma_a(32).task(lane, 0)[1]
                part_a, large_a, small_a = parts_of(many_a, 4)
                part_b, large_b, small_b = parts_of(many_b, 2)
                load_fragments(operands, part_a, part_b, buffer, row, column, first)
                divide(part_a, large_a, small_a, True)
                divide(part_b, large_b, small_b, True)
                add_products(large_a, small_a, 0, large_b, small_b, found, found, 0, True)
            for i, j, e in unroll(grid(many_a, many_b, 4)):
                accumulators[i, j, e] += found[i, j, e]


@record
class PlainProducts(Products):
    """The same in float32 on CUDA cores, element by element."""

    @part
    def multiply(self, operands: Operands, accumulators: Registers, buffer: Int) -> None:
        a, b, (rows, columns) = operands.a, operands.b, self.point.warp_tile
        row, column = self.point.corner(mma_c(), mma_c())
        for r in range(self.point.depth):
            for i, j, e in unroll(grid(rows // 16, columns // 8, 4)):
                down, right = row + i * 16 + e // 2 * 8, column + j * 8 + e % 2
                left = cast(a.tiles[buffer, *a.side.element(down, r)], f32)
                accumulators[i, j, e] += left * cast(
                    b.tiles[buffer, *b.side.element(right, r)], f32
                )


def in_parts(p: Contraction, target: Target) -> bool:
    """Whether tensor cores may multiply these float32 operands in full precision, and pay."""
    single = p.a.dtype is f32 and p.b.dtype is f32 and p.c.dtype is f32 and not p.empty
    allowed = options.mma.get() == "mma" and not options.tf32.get()
    return single and allowed and target.has_feature("mma_tf32") and pays(target)


def pays(target: Target) -> bool:
    """Whether three products on tensor cores take less time than one on CUDA cores."""
    return target.peak_flops(tf32.name, True) > PRODUCTS * target.peak_flops(f32.name)
