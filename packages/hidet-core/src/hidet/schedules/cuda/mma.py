"""Contractions of half-precision operands on tensor cores, by `mma.sync` m16n8k16.

A block owns a tile of the result, a warp a part of it in registers. While warps multiply one pair
of tiles in shared memory, their threads hold the next one in flight. Where the grid is too small
for the device, several blocks share the sum over k, and a second kernel adds what they found.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type"
from dataclasses import dataclass
from math import prod
from typing import Any

from hidet.cost import Work
from hidet.ir.kernel import Module
from hidet.lang import (
    ScriptFunction,
    address,
    attr,
    cast,
    cdiv,
    f32,
    grid,
    register_tensor,
    script,
    script_module,
    shared_tensor,
    unroll,
    vectorize,
)
from hidet.lang.cuda import blockIdx, ldmatrix, mma_sync, syncthreads, threadIdx
from hidet.lang.memory import get
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.contraction import Contraction, known, names_of
from hidet.schedules.cuda.slices import add_slices, slices_type
from hidet.schedules.cuda.staging import Side
from hidet.schedules.space import choice
from hidet.target import Target
from hidet.types import bf16, f16

WARP = 32
VECTOR = 8
"""Elements of a 16-byte access."""
ROUND_FLOPS = 4.5e8
"""A turn of the main loop as work of the whole device: it waits for memory about 0.6 us."""


@dataclass(frozen=True)
class Warps:
    """A block's tile of the result, its depth, how warps divide it, how many blocks share k."""

    block: tuple[int, int] = choice(
        (64, 64), (128, 128), (128, 64), (64, 128), (32, 64), (64, 32), (32, 32), (16, 64)
    )
    depth: int = choice(32, 64)
    warps: tuple[int, int] = choice((2, 2), (2, 4), (1, 4), (1, 2), (4, 2))
    slices: int = choice(1, 2, 3, 4, 6, 8, 12, 16)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return WARP * prod(self.warps)

    @property
    def part(self) -> tuple[int, int]:
        """The tile of one warp."""
        return self.block[0] // self.warps[0], self.block[1] // self.warps[1]

    def sides(self, p: Contraction) -> tuple[Side, Side]:
        """The tiles of both operands."""
        a, b = (
            Side(p, left, extent, self.depth, self.threads, VECTOR, of.dtype, VECTOR)
            for left, extent, of in ((True, self.block[0], p.a), (False, self.block[1], p.b))
        )
        return a, b

    def shared_bytes(self, p: Contraction) -> int:
        """Two tiles of each operand."""
        return sum(2 * prod(side.padded) * side.dtype.nbytes for side in self.sides(p))

    @property
    def registers(self) -> int:
        """An estimate: sums, fragments, tiles in flight, and indices."""
        rows, columns = self.part
        flight = sum(self.block) * self.depth // self.threads // 2
        return rows * columns // WARP + (rows + columns) * 16 // WARP // 2 + flight + 40

    def fits_on(self, p: Contraction, target: Target) -> bool:
        """Whether warps have whole fragments, threads whole vectors, and there is room."""
        rows, columns = self.part
        shaped = self.block[0] % self.warps[0] == self.block[1] % self.warps[1] == 0
        whole = shaped and rows % 16 == 0 and columns % 16 == 0
        if not (whole and all(side.exact for side in self.sides(p))):
            return False
        turns = -(-known(p.k) // self.depth)
        return (
            self.registers <= target.max_registers_per_thread
            and self.shared_bytes(p) <= target.max_shared_bytes_per_block
            and (self.slices == 1 or (isinstance(p.k, int) and turns >= 2 * self.slices))
        )

    def work_on(self, p: Contraction, target: Target) -> Work:
        """Whole tiles; each turn of the main loop waits for memory; slices are added up."""
        tiles = -(-known(p.m) // self.block[0]) * -(-known(p.n) // self.block[1]) * known(p.batch)
        turns = -(-known(p.k) // (self.depth * self.slices))
        blocks = tiles * self.slices
        read, written = p.nbytes
        partial = 0.0 if self.slices == 1 else 4.0 * blocks * prod(self.block)
        # Small parts of warps load more fragments than they multiply.
        rows, columns = self.part
        busy = min(1.0, 2.0 * rows * columns / (rows + columns) / 48)
        flops = 2.0 * blocks * prod(self.block) * turns * self.depth / busy
        return Work(
            read + partial,
            written + partial,
            flops,
            p.a.dtype.name,
            blocks,
            self.threads,
            tensor_core=True,
            launches=1 if self.slices == 1 else 2,
            shared_bytes=self.shared_bytes(p),
            registers=self.registers,
            rounds=turns,
        )


def is_half(p: Contraction) -> bool:
    """Whether both operands are of one half-precision type, and there is something to multiply."""
    return p.a.dtype is p.b.dtype and p.a.dtype in (f16, bf16) and not p.empty


def mma(name: str, p: Contraction, point: Warps) -> Module:
    """A contraction on tensor cores."""
    slices = point.slices
    turns = cdiv(cdiv(p.k, point.depth), slices)
    a_side, b_side = point.sides(p)
    partial_type = slices_type(p, f32, point.block, slices)
    bias_type = operand_type(p.bias, p.c)
    rows, columns = point.part
    parts = rows // 16, columns // 8

    with script_module():
        fetch_a, fetch_b, place_a, place_b = (
            part for side in ((a_side.fetch(), b_side.fetch()), (a_side.place(), b_side.place()))
            for part in side
        )  # fmt: skip
        multiply = multiplication(a_side, b_side, point)
        finish = writing(p, point)

        @script
        def product(a: p.a, b: p.b, bias: bias_type, partial: partial_type, c: p.c) -> None:
            attr.func_name = name
            attr.cuda_grid_dim = (
                cdiv(p.n, point.block[1]), cdiv(p.m, point.block[0]), p.batch * slices
            )  # fmt: skip
            attr.cuda_block_dim = point.threads
            z, share = blockIdx.z // slices, blockIdx.z % slices
            top, left = blockIdx.y * point.block[0], blockIdx.x * point.block[1]
            tiles_a = shared_tensor(a_side.dtype, (2, *a_side.padded))
            tiles_b = shared_tensor(b_side.dtype, (2, *b_side.padded))
            flight_a = register_tensor(a_side.dtype, (a_side.steps, VECTOR))
            flight_b = register_tensor(b_side.dtype, (b_side.steps, VECTOR))
            sums = register_tensor(f32, (*parts, 4), init=0.0)
            fetch_a(a, flight_a, z, top, share * turns * point.depth)
            fetch_b(b, flight_b, z, left, share * turns * point.depth)
            place_a(flight_a, tiles_a, 0)
            place_b(flight_b, tiles_b, 0)
            syncthreads()
            for turn in range(turns):
                if turn + 1 < turns:
                    fetch_a(a, flight_a, z, top, (share * turns + turn + 1) * point.depth)
                    fetch_b(b, flight_b, z, left, (share * turns + turn + 1) * point.depth)
                multiply(tiles_a, tiles_b, sums, turn % 2)
                if turn + 1 < turns:
                    place_a(flight_a, tiles_a, (turn + 1) % 2)
                    place_b(flight_b, tiles_b, (turn + 1) % 2)
                syncthreads()
            finish(sums, bias, partial, c, z, share, top, left)

        kernels = [product] if slices == 1 else [product, add_slices(name, p, partial_type)]
    return assemble(name, kernels, names_of(p), ["c"], ["partial"])


def multiplication(a_side: Side, b_side: Side, point: Warps) -> ScriptFunction:
    """A part of a kernel: each warp adds the product of its parts of two tiles to its sums."""
    rows, columns = point.part
    many_a, many_b = rows // 16, columns // 16
    dtype = a_side.dtype

    @script
    def multiply(tiles_a, tiles_b, sums, number):  # type: ignore[no-untyped-def]
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        row, column = warp // point.warps[1] * rows, warp % point.warps[1] * columns
        for deep in unroll(point.depth // 16):
            part_a = register_tensor(dtype, (many_a, 8))
            part_b = register_tensor(dtype, (many_b, 8))
            for i in unroll(many_a):
                # Four 8 x 8 matrices: rows change first, then k.
                high, low = lane % 8 + lane // 8 % 2 * 8, lane // 16 * 8
                if not a_side.along_k:
                    high, low = lane // 8 % 2 * 8, lane % 8 + lane // 16 * 8
                at, r = row + i * 16 + high, deep * 16 + low
                place = (at, r) if a_side.along_k else (r, at)
                source = address(tiles_a, number, *place)
                ldmatrix(address(part_a, i, 0), source, 4, not a_side.along_k)
            for j in unroll(many_b):
                # Four 8 x 8 matrices: k changes first, then columns.
                high, low = lane % 8 + lane // 16 * 8, lane // 8 % 2 * 8
                if not b_side.along_k:
                    high, low = lane // 16 * 8, lane % 8 + lane // 8 % 2 * 8
                at, r = column + j * 16 + high, deep * 16 + low
                place = (at, r) if b_side.along_k else (r, at)
                source = address(tiles_b, number, *place)
                ldmatrix(address(part_b, j, 0), source, 4, not b_side.along_k)
            for i, j in unroll(grid(many_a, many_b * 2)):
                right = address(part_b, j // 2, j % 2 * 4)
                mma_sync(address(part_a, i, 0), right, address(sums, i, j, 0))

    return multiply


def writing(p: Contraction, point: Warps) -> ScriptFunction:
    """A part of a kernel: each lane writes its sums, in pairs of neighbours."""
    rows, columns = point.part
    lanes_up, whole = range(2), point.slices == 1

    @script
    def finish(sums, bias, partial, c, z, share, top, left):  # type: ignore[no-untyped-def]
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        row = top + warp // point.warps[1] * rows + lane // 4
        column = left + warp % point.warps[1] * columns + lane % 4 * 2
        for i, half, j in unroll(grid(rows // 16, len(lanes_up), columns // 8)):
            for v in vectorize(2):
                total = sums[i, j, half * 2 + v]
                at = (z, row + i * 16 + half * 8, column + j * 8 + v)
                if whole:
                    if p.bias is not None:
                        total += cast(get(bias, *p.bias_at(*at)), f32)
                    if at[1] < p.m if p.spills else True:
                        c.put(*p.c_at(*at), cast(total, p.c.dtype))
                else:
                    partial[share, *at] = total

    return finish
