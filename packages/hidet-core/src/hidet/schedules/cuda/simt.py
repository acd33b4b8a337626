"""Contractions on the ordinary units, in full precision: float32, float64, integers.

A block owns a tile of the result, a thread a part of it in registers, in pieces as wide as one
access. While threads multiply one pair of tiles in shared memory, they hold the next in flight.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type"
from dataclasses import dataclass
from math import prod

from hidet.cost import Work
from hidet.ir.kernel import Module
from hidet.lang import (
    ScriptFunction,
    attr,
    cast,
    cdiv,
    grid,
    register_tensor,
    script,
    script_module,
    shared_tensor,
    unroll,
    vectorize,
)
from hidet.lang.cuda import blockIdx, syncthreads, threadIdx
from hidet.lang.memory import get
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.contraction import Contraction, known, names_of
from hidet.schedules.cuda.slices import add_slices, slices_type
from hidet.schedules.cuda.staging import Side
from hidet.schedules.space import choice
from hidet.target import Target
from hidet.types import DType, i32

ACCESS_BYTES = 16


def sum_type(p: Contraction) -> DType:
    """The type of the sums; integers wrap, so that narrow ones need no more than 32 bits."""
    of = p.c.dtype
    return i32 if of.is_integer and of.bits <= 32 else p.wide


@dataclass(frozen=True)
class Threads:
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

    def sides(self, p: Contraction) -> tuple[Side, Side]:
        """The tiles of both operands."""
        dtype = sum_type(p)
        lanes = ACCESS_BYTES // dtype.nbytes
        a, b = (
            Side(p, left, extent, self.depth, self.threads, lanes, dtype, lanes, turned=True)
            for left, extent in ((True, self.block[0]), (False, self.block[1]))
        )
        return a, b

    def shared_bytes(self, p: Contraction) -> int:
        """Two tiles of each operand."""
        return sum(2 * prod(side.padded) * side.dtype.nbytes for side in self.sides(p))

    def registers(self, p: Contraction) -> int:
        """An estimate: sums, fragments, tiles in flight, and indices."""
        flight = sum(self.block) * self.depth // self.threads
        return (prod(self.each) + sum(self.each) + flight) * sum_type(p).nbytes // 4 + 32

    def fits_on(self, p: Contraction, target: Target) -> bool:
        """Whether threads have whole pieces, and there is room."""
        whole = all(size % each == 0 for size, each in zip(self.block, self.each, strict=True))
        if not (whole and 32 <= self.threads <= 512 and self.threads % 32 == 0):
            return False
        turns = -(-known(p.k) // self.depth)
        return (
            all(side.exact for side in self.sides(p))
            and self.registers(p) <= target.max_registers_per_thread
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
        # A multiply-add should come with less than half a word from shared memory.
        busy = min(1.0, prod(self.each) / sum(self.each) / 2)
        return Work(
            read + partial,
            written + partial,
            2.0 * blocks * prod(self.block) * turns * self.depth / busy,
            sum_type(p).name,
            blocks,
            self.threads,
            launches=1 if self.slices == 1 else 2,
            shared_bytes=self.shared_bytes(p),
            registers=self.registers(p),
            rounds=turns,
        )


def simt(name: str, p: Contraction, point: Threads) -> Module:
    """A contraction on the ordinary units."""
    slices, wide = point.slices, sum_type(p)
    turns = cdiv(cdiv(p.k, point.depth), slices)
    a_side, b_side = point.sides(p)
    partial_type = slices_type(p, wide, point.block, slices)
    bias_type = operand_type(p.bias, p.c)

    with script_module():
        fetch_a, fetch_b = a_side.fetch(), b_side.fetch()
        place_a, place_b = a_side.place(), b_side.place()
        multiply = multiplication(point, wide)
        finish = writing(p, point, wide)

        @script
        def product(a: p.a, b: p.b, bias: bias_type, partial: partial_type, c: p.c) -> None:
            attr.func_name = name
            attr.cuda_grid_dim = (
                cdiv(p.n, point.block[1]), cdiv(p.m, point.block[0]), p.batch * slices
            )  # fmt: skip
            attr.cuda_block_dim = point.threads
            z, share = blockIdx.z // slices, blockIdx.z % slices
            top, left = blockIdx.y * point.block[0], blockIdx.x * point.block[1]
            tiles_a = shared_tensor(wide, (2, *a_side.padded))
            tiles_b = shared_tensor(wide, (2, *b_side.padded))
            flight_a = register_tensor(wide, (a_side.steps, a_side.vector))
            flight_b = register_tensor(wide, (b_side.steps, b_side.vector))
            sums = register_tensor(wide, point.each, init=0)
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

        kernels = [product]
        if slices > 1:
            kernels.append(add_slices(name, p, partial_type))
    return assemble(name, kernels, names_of(p), ["c"], ["partial"])


def pieces(point: Threads, wide: DType) -> tuple[tuple[int, int], tuple[int, int]]:
    """For rows and for columns: how wide a piece is, and how far apart a thread's pieces are."""
    lanes = ACCESS_BYTES // wide.nbytes
    widths = tuple(min(lanes, each) for each in point.each)
    threads = (size // each for size, each in zip(point.block, point.each, strict=True))
    return tuple((width, width * count) for width, count in zip(widths, threads, strict=True))  # type: ignore[return-value]


def multiplication(point: Threads, wide: DType) -> ScriptFunction:
    """A part of a kernel: each thread adds the product of its parts of two tiles to its sums."""
    (high, down), (broad, right) = pieces(point, wide)
    rows, columns = point.each
    across = point.block[1] // columns

    @script
    def multiply(tiles_a, tiles_b, sums, number):  # type: ignore[no-untyped-def]
        row, column = threadIdx.x // across * high, threadIdx.x % across * broad
        for deep in unroll(point.depth):
            part_a = register_tensor(wide, (rows,))
            part_b = register_tensor(wide, (columns,))
            for piece in unroll(rows // high):
                for v in vectorize(high):
                    part_a[piece * high + v] = tiles_a[number, deep, row + piece * down + v]
            for piece in unroll(columns // broad):
                for v in vectorize(broad):
                    part_b[piece * broad + v] = tiles_b[number, deep, column + piece * right + v]
            for i, j in unroll(grid(rows, columns)):
                sums[i, j] += part_a[i] * part_b[j]

    return multiply


def writing(p: Contraction, point: Threads, wide: DType) -> ScriptFunction:
    """A part of a kernel: each thread writes its sums, piece by piece."""
    (high, down), (broad, right) = pieces(point, wide)
    rows, columns = point.each
    across = point.block[1] // columns
    whole = point.slices == 1

    @script
    def finish(sums, bias, partial, c, z, share, top, left):  # type: ignore[no-untyped-def]
        row, column = threadIdx.x // across * high, threadIdx.x % across * broad
        for i, piece in unroll(grid(rows, columns // broad)):
            for v in vectorize(broad):
                total = sums[i, piece * broad + v]
                down_i = i // high * down + i % high
                at = (z, top + row + down_i, left + column + piece * right + v)
                if whole:
                    if p.bias is not None:
                        total += cast(get(bias, *p.bias_at(*at)), wide)
                    if at[1] < p.m if p.spills else True:
                        c.put(*p.c_at(*at), cast(total, p.c.dtype))
                else:
                    partial[share, *at] = total

    return finish
