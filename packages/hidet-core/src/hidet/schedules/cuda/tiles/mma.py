"""Tiles on tensor cores: half-precision operands, by `mma.sync` m16n8k16, accumulators in float32.

Each warp owns a part of the block's tile, in fragments as the PTX ISA lays them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from hidet import options
from hidet.lang import (
    Int,
    Registers,
    address,
    cast,
    f32,
    grid,
    part,
    register_tensor,
    unroll,
    vectorize,
)
from hidet.lang.cuda import ldmatrix, mma_sync, threadIdx
from hidet.mapping import TaskMapping, repeat, spatial
from hidet.mapping.fragments import matrices, mma_c
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.tiles.main_loop import Operands
from hidet.schedules.cuda.tiles.staging import Side
from hidet.schedules.cuda.tiles.tile import Tile
from hidet.schedules.space import choice
from hidet.target import WARP, Target
from hidet.target.gpus import ACCESS_BYTES
from hidet.types import DType, bf16, f16

VECTOR = 8
"""Elements of a 16-byte access."""


@dataclass(frozen=True)
class Warps(Tile):
    """A block's tile of the result, its depth, how warps divide it, how many blocks share k."""

    block: tuple[int, int] = choice(
        (64, 64), (128, 128), (128, 64), (64, 128), (32, 64), (64, 32), (32, 32), (16, 64)
    )
    depth: int = choice(32, 64)
    warps: tuple[int, int] = choice((2, 2), (2, 4), (1, 4), (1, 2), (4, 2))
    slices: int = choice(1, 2, 3, 4, 6, 8, 12, 16)

    tensor_core = True
    widest = VECTOR
    """Elements of a 16-byte access."""
    side_type = Side
    """The class of both operands' tiles."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return WARP * prod(self.warps)

    @property
    def warp_tile(self) -> tuple[int, int]:
        """The tile of one warp."""
        return self.block[0] // self.warps[0], self.block[1] // self.warps[1]

    @property
    def accumulators(self) -> tuple[int, ...]:
        """Fragments of 16 x 8, four elements of each."""
        return self.warp_tile[0] // 16, self.warp_tile[1] // 8, 4

    def accumulator_type(self, p: Contraction) -> DType:
        """The type of the accumulators: float32, float16 only where that was asked for."""
        return f16 if options.fp16_reduction.get() and p.a.dtype is f16 else f32

    def partial_type(self, p: Contraction) -> DType:
        """Split-K partials are float32, whatever the accumulators are."""
        return f32

    def unit(self, p: Contraction) -> str:
        """The operands' type."""
        return p.a.dtype.name

    def side(self, p: Contraction, left: bool) -> Side:
        """Tiles as the operand lies; 16 bytes between rows keep ldmatrix from conflicts."""
        shape, dtype = (self.extent(left), self.depth), (p.a if left else p.b).dtype
        return self.side_type(
            p, left, *shape, self.threads, self.vector_width(p, left), dtype, self.widest
        )

    def vector_width(self, p: Contraction, left: bool) -> int:
        """Elements of one access of a thread."""
        return self.widest

    def shared_dtype(self, p: Contraction) -> DType:
        """The type of the tiles in shared memory."""
        return p.a.dtype

    def divides_evenly(self) -> bool:
        """Whether warps have whole fragments."""
        divided = self.block[0] % self.warps[0] == self.block[1] % self.warps[1] == 0
        return divided and self.warp_tile[0] % 16 == 0 and self.warp_tile[1] % 16 == 0

    def registers(self, p: Contraction) -> int:
        """Registers of accumulators, fragments of 32 bytes along k, staging and indices."""
        rows, columns = self.warp_tile
        return rows * columns // WARP + (rows + columns) // 4 + self.staging(p) + 40

    def staging(self, p: Contraction) -> int:
        """Registers of the next tiles, and of an index for each gathered element."""
        vectors, found = sum(self.block), self.block[1] if p.scattered else 0
        words = vectors * self.depth * self.shared_dtype(p).nbytes // 4
        return words // self.threads + found * self.depth // self.threads

    def rate(self, p: Contraction, target: Target) -> float:
        peak = target.peak_flops(self.unit(p), True) / target.cores
        return peak * target.measured.mma_efficiency

    def fragment_bytes(self, p: Contraction) -> float:
        """Each warp loads the rows and columns of its own tile."""
        nbytes = self.shared_dtype(p).nbytes
        return prod(self.warps) * sum(self.warp_tile) * self.depth * nbytes

    def origin(self, warp: Int) -> tuple[Int, Int]:
        """The first row and column of a warp's tile in the block's."""
        row, column = (spatial(*self.warps) * repeat(*self.warp_tile)).task(warp, 0)
        return row, column

    @part
    def corner(self, left: TaskMapping, right: TaskMapping) -> tuple[Int, Int]:
        """The row of a lane's first element of fragments `left` of its warp's tile, and the column
        of that of fragments `right`."""
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        row = self.origin(warp)[0] + left.task(lane, 0)[0]
        column = self.origin(warp)[1] + right.task(lane, 0)[1]
        return row, column

    @part
    def multiply(self, operands: Operands, accumulators: Registers, buffer: Int) -> None:
        """Each warp adds the product of its parts of two tiles to its accumulators.

        A fragment is two vectors of 16 bytes deep. `ldmatrix` turns elements of 16 bits alone.
        """
        for deep in unroll(self.steps(operands)):
            fragments_a, fragments_b = self.fragments(operands, 1)
            self.load(operands, fragments_a, fragments_b, 0, buffer, deep)
            self.add(fragments_a, fragments_b, accumulators, 0)

    def steps(self, operands: Any) -> int:
        """How many fragments a tile is deep."""
        width: int = operands.a.side.dtype.nbytes
        return self.depth * width // (2 * ACCESS_BYTES)

    @part
    def fragments(self, operands: Operands, sets: int) -> tuple[Registers, Registers]:
        """Registers for a warp's fragments of both operands, of so many steps along k."""
        (rows, columns), a, b = self.warp_tile, operands.a.side.dtype, operands.b.side.dtype
        fragments_a = register_tensor(a, (sets, rows // 16, ACCESS_BYTES // a.nbytes))
        fragments_b = register_tensor(b, (sets, columns // 16, ACCESS_BYTES // b.nbytes))
        return fragments_a, fragments_b

    @part
    def load(
        self, operands: Operands, fragments_a: Registers, fragments_b: Registers,
        to: Int, buffer: Int, deep: Int,
    ) -> None:  # fmt: skip
        """A warp's fragments of a step along k come from a pair of tiles."""
        a, b = operands.a, operands.b
        own = Fragments(a.side, b.side)
        (row, column), lane = self.origin(threadIdx.x // WARP), threadIdx.x % WARP
        for i in unroll(fragments_a.shape[1]):
            down, right = own.a.task(lane, 0)
            place = a.side.shared_index(row + i * 16, deep * 2 * own.half, down, right)
            source = address(a.tiles, buffer, *place)
            ldmatrix(address(fragments_a, to, i, 0), source, 4, not a.side.shared_along_k)
        for j in unroll(fragments_b.shape[1]):
            down, right = own.b.task(lane, 0)
            place = b.side.shared_index(column + j * 16, deep * 2 * own.half, down, right)
            source = address(b.tiles, buffer, *place)
            ldmatrix(address(fragments_b, to, j, 0), source, 4, not b.side.shared_along_k)

    @part
    def add(
        self, fragments_a: Registers, fragments_b: Registers, accumulators: Registers, at: Int
    ) -> None:
        """A warp adds the product of the fragments of a step along k to its accumulators."""
        half = fragments_a.shape[2]
        for i, j in unroll(grid(fragments_a.shape[1], fragments_b.shape[1] * 2)):
            right = address(fragments_b, at, j // 2, j % 2 * (half // 2))
            mma_sync(
                address(fragments_a, at, i, 0),
                right,
                address(accumulators, i, j, 0),
                f"m16n8k{2 * half}",
            )

    @part
    def write(
        self, accumulators: Registers, wide: DType, out: Any, z: Any, top: Int, left: Int
    ) -> None:
        """Each lane writes its accumulators, in pairs of neighbours."""
        rows, columns = self.warp_tile
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        row = top + self.origin(warp)[0] + mma_c().task(lane, 0)[0]
        column = left + self.origin(warp)[1] + mma_c().task(lane, 0)[1]
        for i, half, j in unroll(grid(rows // 16, 2, columns // 8)):
            for v in vectorize(2):
                total = cast(accumulators[i, j, half * 2 + v], wide)
                out.write(total, z, row + i * 16 + half * 8, column + j * 8, v)


class Fragments:
    """How lanes find fragments of both operands in shared memory."""

    def __init__(self, a: Side, b: Side) -> None:
        bits = a.dtype.nbytes * 8
        self.half = ACCESS_BYTES // a.dtype.nbytes
        """Elements of a 16-byte vector."""
        # In a fragment of a rows of the product change first, in one of b k does.
        self.a = matrices(bits, across=not a.shared_along_k)
        self.b = matrices(bits, across=b.shared_along_k)


def is_half(p: Contraction) -> bool:
    """Whether both operands are of one half-precision type, and there is something to multiply."""
    return p.a.dtype is p.b.dtype and p.a.dtype in (f16, bf16) and not p.empty


def by_tensor_cores(p: Contraction, target: Target) -> bool:
    """Whether tensor cores may multiply these, by their types, the target and the options."""
    return is_half(p) and target.has_feature("mma_f16") and options.mma.get() == "mma"
