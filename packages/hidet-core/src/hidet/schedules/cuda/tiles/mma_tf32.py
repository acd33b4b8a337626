"""Tiles of float32 on tensor cores: operands rounded to tf32, by `mma.sync` m16n8k8.

Accumulators are float32. Fragments are loaded word by word: `ldmatrix` transposes no 32-bit
elements.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet import options
from hidet.lang import Int, Registers, address, f32, grid, part, register_tensor, tf32, unroll
from hidet.lang.cuda import mma_sync, threadIdx
from hidet.mapping.fragments import mma_a, mma_b
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.tiles.main_loop import Operands
from hidet.schedules.cuda.tiles.mma import Warps
from hidet.schedules.cuda.tiles.staging import Side
from hidet.schedules.space import choice
from hidet.target import WARP, Target
from hidet.types import DType

VECTOR = 4
"""Elements of a 16-byte access."""


@dataclass(frozen=True)
class SingleWarps(Warps):
    """A block's tile of the result, its depth, how warps divide it, how many blocks share k."""

    depth: int = choice(32, 16)

    def accumulator_type(self, p: Contraction) -> DType:
        """The type of the accumulators."""
        return f32

    def unit(self, p: Contraction) -> str:
        """The type that operands are rounded to."""
        return tf32.name

    def shared_dtype(self, p: Contraction) -> DType:
        """The type of the tiles in shared memory."""
        return tf32

    def side(self, p: Contraction, left: bool) -> Side:
        """Tiles as the operand lies; a warp's words of a fragment are in 32 different banks."""
        padding = 4 if (p.a_along_k if left else p.b_along_k) else 8
        shape = self.extent(left), self.depth
        return Side(p, left, *shape, self.threads, VECTOR, self.shared_dtype(p), padding)

    @part
    def multiply(self, operands: Operands, accumulators: Registers, buffer: Int) -> None:
        """Each warp adds the product of its parts of two tiles to its accumulators."""
        rows, columns = self.warp_tile
        many_a, many_b = rows // 16, columns // 8
        lane, (row, column) = threadIdx.x % WARP, self.corner(mma_a(32), mma_b(32))
        for deep in unroll(self.depth // 8):
            first = deep * 8 + mma_a(32).task(lane, 0)[1]
            part_a = register_tensor(tf32, (many_a, 4))
            part_b = register_tensor(tf32, (many_b, 2))
            load_fragments(operands, part_a, part_b, buffer, row, column, first)
            for i, j in unroll(grid(many_a, many_b)):
                left, right = address(part_a, i, 0), address(part_b, j, 0)
                mma_sync(left, right, address(accumulators, i, j, 0), "m16n8k8")


@part
def load_fragments(
    operands: Operands, part_a: Registers, part_b: Registers,
    buffer: Int, row: Int, column: Int, first: Int,
) -> None:  # fmt: skip
    """A lane loads its elements of the fragments of both tiles, for the eight of k from `first` on,
    to its registers."""
    a, b = operands.a, operands.b
    for i, v in unroll(grid(part_a.shape[0], 4)):
        at, r = row + i * 16 + v % 2 * 8, first + v // 2 * 4
        part_a[i, v] = a.tiles[buffer, *a.side.element(at, r)]
    for j, v in unroll(grid(part_b.shape[0], 2)):
        at, r = column + j * 8, first + v * 4
        part_b[j, v] = b.tiles[buffer, *b.side.element(at, r)]


def in_tf32(p: Contraction, target: Target) -> bool:
    """Whether tensor cores may multiply these float32 operands, by the target and the options."""
    single = p.a.dtype is f32 and p.b.dtype is f32 and p.c.dtype is f32 and not p.empty
    allowed = options.tf32.get() and options.mma.get() == "mma"
    return single and allowed and target.has_feature("mma_tf32")
