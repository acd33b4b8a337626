"""Tiles on CUDA cores, in full precision: float32, float64, integers.

Each thread owns a part of the block's tile, in pieces as wide as one access.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from hidet.lang import Int, Registers, grid, part, register_tensor, unroll, vectorize
from hidet.lang.cuda import threadIdx
from hidet.mapping import repeat, spatial
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.tiles.main_loop import Operands
from hidet.schedules.cuda.tiles.mma import by_tensor_cores
from hidet.schedules.cuda.tiles.staging import Side
from hidet.schedules.cuda.tiles.tile import Tile
from hidet.schedules.space import choice
from hidet.target import ACCESS_BYTES, Target
from hidet.types import DType, i32


@dataclass(frozen=True)
class Threads(Tile):
    """A block's tile of the result, its depth, a thread's part, how many blocks share k."""

    block: tuple[int, int] = choice(
        (64, 64), (128, 128), (128, 64), (64, 128), (32, 64), (64, 32), (32, 32), (16, 64)
    )
    depth: int = choice(8, 16, 32)
    each: tuple[int, int] = choice((4, 4), (8, 4), (8, 8), (4, 8), (2, 4))
    slices: int = choice(1, 2, 4, 8, 16)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return prod(self.block) // prod(self.each)

    @property
    def sums(self) -> tuple[int, ...]:
        """One for each element of a thread's part."""
        return self.each

    def sum_type(self, p: Contraction) -> DType:
        """The type of the sums; integers wrap, so that narrow ones need no more than 32 bits."""
        of = p.c.dtype
        return i32 if of.is_integer and of.bits <= 32 else p.wide

    def side(self, p: Contraction, left: bool) -> Side:
        """Tiles with k as their first axis, so that a thread's piece is one access."""
        dtype, shape = self.sum_type(p), (self.extent(left), self.depth)
        lanes = ACCESS_BYTES // dtype.nbytes
        return Side(p, left, *shape, self.threads, lanes, dtype, lanes, turned=True)

    def shaped(self) -> bool:
        """Whether threads have whole parts."""
        whole = all(size % each == 0 for size, each in zip(self.block, self.each, strict=True))
        return whole and 32 <= self.threads <= 512 and self.threads % 32 == 0

    def registers(self, p: Contraction) -> int:
        """Accumulators, fragments, tiles in flight, and indices."""
        flight = sum(self.block) * self.depth // self.threads
        words = self.sum_type(p).nbytes // 4
        return (prod(self.each) + sum(self.each) + flight) * words + 32

    def busy(self) -> float:
        """A multiply-add should come with less than a third of a word from shared memory."""
        return min(1.0, prod(self.each) / sum(self.each) / 3)

    def place(self, high: int, broad: int) -> tuple[Any, Any]:
        """The row and column of a thread's first piece, of so many rows or columns."""
        threads = (size // each for size, each in zip(self.block, self.each, strict=True))
        row, column = (spatial(*threads) * repeat(high, broad)).task(threadIdx.x, 0)
        return row, column

    @part
    def multiply(self, operands: Operands, sums: Registers, number: Int) -> None:
        """Each thread adds the product of its parts of two tiles to its sums."""
        (high, down), (broad, right) = pieces(self, sums.dtype)
        (rows, columns), tiles_a, tiles_b = self.each, operands.a.tiles, operands.b.tiles
        row, column = self.place(high, broad)
        for deep in unroll(self.depth):
            part_a = register_tensor(sums.dtype, (rows,))
            part_b = register_tensor(sums.dtype, (columns,))
            for piece in unroll(rows // high):
                for v in vectorize(high):
                    part_a[piece * high + v] = tiles_a[number, deep, row + piece * down + v]
            for piece in unroll(columns // broad):
                for v in vectorize(broad):
                    part_b[piece * broad + v] = tiles_b[number, deep, column + piece * right + v]
            for i, j in unroll(grid(rows, columns)):
                sums[i, j] += part_a[i] * part_b[j]

    @part
    def write(self, sums: Registers, wide: DType, out: Any, z: Any, top: Int, left: Int) -> None:
        """Each thread writes its accumulators, piece by piece."""
        (high, down), (broad, right) = pieces(self, wide)
        (rows, columns), (row, column) = self.each, self.place(high, broad)
        for i, piece in unroll(grid(rows, columns // broad)):
            for v in vectorize(broad):
                at = (top + row + i // high * down + i % high, left + column + piece * right + v)
                out.write(sums[i, piece * broad + v], z, *at, 0)


def by_threads(p: Contraction, target: Target) -> bool:
    """Whether there are numbers to multiply, and no tensor cores for them at full precision."""
    return not p.empty and not p.c.dtype.is_bool and not by_tensor_cores(p, target)


def pieces(point: Threads, wide: DType) -> tuple[tuple[int, int], tuple[int, int]]:
    """For rows and for columns: how wide a piece is, and how far apart a thread's pieces are."""
    lanes = ACCESS_BYTES // wide.nbytes
    widths = tuple(min(lanes, each) for each in point.each)
    threads = (size // each for size, each in zip(point.block, point.each, strict=True))
    return tuple((width, width * count) for width, count in zip(widths, threads, strict=True))  # type: ignore[return-value]
