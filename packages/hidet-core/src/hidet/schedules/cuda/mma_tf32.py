"""Tiles of float32 on tensor cores: operands rounded to tf32, by `mma.sync` m16n8k8.

Sums are in float32. Fragments are loaded word by word: `ldmatrix` transposes no 32-bit elements.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet import options
from hidet.cost import Work
from hidet.lang import ScriptFunction, address, f32, grid, register_tensor, script, tf32, unroll
from hidet.lang.cuda import mma_sync, threadIdx
from hidet.mapping.fragments import mma_a, mma_b
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.mma import Warps
from hidet.schedules.cuda.staging import Side
from hidet.schedules.cuda.tile import Tile
from hidet.schedules.space import choice
from hidet.target import WARP, Target
from hidet.types import DType

VECTOR = 4
"""Elements of a 16-byte access."""


@dataclass(frozen=True)
class SingleWarps(Warps):
    """A block's tile of the result, its depth, how warps divide it, how many blocks share k."""

    depth: int = choice(32, 16)

    def sum_type(self, p: Contraction) -> DType:
        """The type of the sums."""
        return f32

    def unit(self, p: Contraction) -> str:
        """What operands are rounded to."""
        return tf32.name

    def held(self) -> DType:
        """What tiles in shared memory are of."""
        return tf32

    def sides(self, p: Contraction) -> tuple[Side, Side]:
        """Tiles as their operands lie; a warp's words of a fragment are in 32 different banks."""
        held = self.held()
        a, b = (
            Side(p, left, extent, self.depth, self.threads, VECTOR, held, 4 if along else 8)
            for left, extent, along in (
                (True, self.block[0], p.a_along_k),
                (False, self.block[1], p.b_along_k),
            )
        )
        return a, b

    def registers(self, p: Contraction) -> int:
        """Sums, fragments, tiles in flight, and indices."""
        rows, columns = self.part
        flight = sum(self.block) * self.depth // self.threads
        if p.scattered:
            flight += self.block[1] * self.depth // self.threads
        return rows * columns // WARP + (rows + columns) * 8 // WARP + flight + 40

    def work_on(self, p: Contraction, target: Target) -> Work:
        """As CUDA cores are estimated, between which and these the estimates choose."""
        return Tile.work_on(self, p, target)

    def busy(self) -> float:
        """Small parts of warps load more fragments than they multiply."""
        rows, columns = self.part
        return min(1.0, 2.0 * rows * columns / (rows + columns) / 48)

    def multiplication(self, p: Contraction) -> ScriptFunction:
        """Each warp adds the product of its parts of two tiles to its sums."""
        return multiplication(*self.sides(p), self)


def in_tf32(p: Contraction, target: Target) -> bool:
    """Whether tensor cores may multiply these float32 operands, by the target and the options."""
    single = p.a.dtype is f32 and p.b.dtype is f32 and p.c.dtype is f32 and not p.empty
    allowed = options.tf32.get() and options.mma.get() == "mma"
    return single and allowed and target.has_feature("mma_tf32")


def multiplication(a_side: Side, b_side: Side, point: SingleWarps) -> ScriptFunction:
    """A part of a kernel: each warp adds the product of its parts of two tiles to its sums."""
    rows, columns = point.part
    many_a, many_b = rows // 16, columns // 8
    bring = bringing(a_side, b_side, many_a, many_b)

    @script
    def multiply(tiles_a, tiles_b, sums, number):  # type: ignore[no-untyped-def]
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        row = warp // point.warps[1] * rows + mma_a(32).task(lane, 0)[0]
        column = warp % point.warps[1] * columns + mma_b(32).task(lane, 0)[1]
        for deep in unroll(point.depth // 8):
            first = deep * 8 + mma_a(32).task(lane, 0)[1]
            part_a = register_tensor(tf32, (many_a, 4))
            part_b = register_tensor(tf32, (many_b, 2))
            bring(tiles_a, tiles_b, part_a, part_b, number, row, column, first)
            for i, j in unroll(grid(many_a, many_b)):
                left, right = address(part_a, i, 0), address(part_b, j, 0)
                mma_sync(left, right, address(sums, i, j, 0), "m16n8k8")

    return multiply


def bringing(a_side: Side, b_side: Side, many_a: int, many_b: int) -> ScriptFunction:
    """A part of a kernel: (tiles_a, tiles_b, part_a, part_b, number, row, column, first). A lane's
    elements of so many fragments of both tiles, for the eight of k that begin at `first` are under
    way to its registers."""

    @script
    def bring(tiles_a, tiles_b, part_a, part_b, number, row, column, first):  # type: ignore[no-untyped-def]
        for i, v in unroll(grid(many_a, 4)):
            at, r = row + i * 16 + v % 2 * 8, first + v // 2 * 4
            place = (at, r) if a_side.along_k else (r, at)
            part_a[i, v] = tiles_a[number, *place]
        for j, v in unroll(grid(many_b, 2)):
            at, r = column + j * 8, first + v * 4
            place = (at, r) if b_side.along_k else (r, at)
            part_b[j, v] = tiles_b[number, *place]

    return bring
