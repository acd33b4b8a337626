"""Tiles on CUDA cores, in full precision: float32, float64, integers.

Each thread owns a part of the block's tile, in pieces as wide as one access.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from hidet.cost import REACHED_RATE
from hidet.lang import Int, Registers, grid, part, register_tensor, unroll, vectorize
from hidet.lang.cuda import threadIdx
from hidet.mapping import repeat, spatial
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.tiles.main_loop import Operands
from hidet.schedules.cuda.tiles.mma import by_tensor_cores
from hidet.schedules.cuda.tiles.staging import Side
from hidet.schedules.cuda.tiles.tile import Tile
from hidet.schedules.space import choice
from hidet.target import ACCESS_BYTES, WARP, Target
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
    def accumulators(self) -> tuple[int, ...]:
        """One for each element of a thread's part."""
        return self.each

    def accumulator_type(self, p: Contraction) -> DType:
        """The type of the accumulators. Integers wrap, so 32 bits are enough for narrow ones."""
        of = p.c.dtype
        return i32 if of.is_integer and of.bits <= 32 else p.wide

    def side(self, p: Contraction, left: bool) -> Side:
        """Tiles with k as their first axis, so that a thread's piece is one access."""
        dtype, shape = self.accumulator_type(p), (self.extent(left), self.depth)
        lanes = ACCESS_BYTES // dtype.nbytes
        return Side(p, left, *shape, self.threads, lanes, dtype, lanes, transposed=True)

    def divides_evenly(self) -> bool:
        """Whether threads have whole parts."""
        whole = all(size % each == 0 for size, each in zip(self.block, self.each, strict=True))
        return whole and 32 <= self.threads <= 512 and self.threads % 32 == 0

    def registers(self, p: Contraction) -> int:
        """Accumulators, fragments, tiles in flight, and indices."""
        staging = sum(self.block) * self.depth // self.threads
        words = self.accumulator_type(p).nbytes // 4
        return (prod(self.each) + sum(self.each) + staging) * words + 32

    def rate(self, p: Contraction, target: Target) -> float:
        peak = target.peak_flops(self.unit(p)) / target.cores
        return peak * REACHED_RATE

    def fragment_bytes(self, p: Contraction) -> float:
        """A warp's load moves what its lanes have no two of, and half of what they get at least."""
        across = min(WARP, self.block[1] // self.each[1])
        lanes, nbytes = (WARP // across, across), self.accumulator_type(p).nbytes
        loads = sum(e * max(n, WARP / 2) for e, n in zip(self.each, lanes, strict=True))
        return self.threads // WARP * self.depth * loads * nbytes

    def place(self, high: int, broad: int) -> tuple[Any, Any]:
        """The row and column of a thread's first piece, of so many rows or columns."""
        threads = (size // each for size, each in zip(self.block, self.each, strict=True))
        row, column = (spatial(*threads) * repeat(high, broad)).task(threadIdx.x, 0)
        return row, column

    @part
    def multiply(self, operands: Operands, accumulators: Registers, buffer: Int) -> None:
        """Each thread adds the product of its parts of two tiles to its accumulators."""
        (high, down), (broad, right) = pieces(self, accumulators.dtype)
        (rows, columns), tiles_a, tiles_b = self.each, operands.a.tiles, operands.b.tiles
        row, column = self.place(high, broad)
        for deep in unroll(self.depth):
            part_a = register_tensor(accumulators.dtype, (rows,))
            part_b = register_tensor(accumulators.dtype, (columns,))
            for piece in unroll(rows // high):
                for v in vectorize(high):
                    part_a[piece * high + v] = tiles_a[buffer, deep, row + piece * down + v]
            for piece in unroll(columns // broad):
                for v in vectorize(broad):
                    part_b[piece * broad + v] = tiles_b[buffer, deep, column + piece * right + v]
            for i, j in unroll(grid(rows, columns)):
                accumulators[i, j] += part_a[i] * part_b[j]

    @part
    def write(
        self, accumulators: Registers, wide: DType, out: Any, z: Any, top: Int, left: Int
    ) -> None:
        """Each thread writes its accumulators, piece by piece."""
        (high, down), (broad, right) = pieces(self, wide)
        (rows, columns), (row, column) = self.each, self.place(high, broad)
        for i, piece in unroll(grid(rows, columns // broad)):
            for v in vectorize(broad):
                at = (top + row + i // high * down + i % high, left + column + piece * right + v)
                out.write(accumulators[i, piece * broad + v], z, *at, 0)


def by_threads(p: Contraction, target: Target) -> bool:
    """Whether there are numbers to multiply, and no tensor cores for them at full precision."""
    return not p.empty and not p.c.dtype.is_bool and not by_tensor_cores(p, target)


def pieces(point: Threads, wide: DType) -> tuple[tuple[int, int], tuple[int, int]]:
    """For rows and for columns: how wide a piece is, and how far apart a thread's pieces are."""
    lanes = ACCESS_BYTES // wide.nbytes
    widths = tuple(min(lanes, each) for each in point.each)
    threads = (size // each for size, each in zip(point.block, point.each, strict=True))
    return tuple((width, width * count) for width, count in zip(widths, threads, strict=True))  # type: ignore[return-value]
