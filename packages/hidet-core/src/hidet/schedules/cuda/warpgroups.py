"""How a product is divided among warpgroups: the space that `matmul_wgmma` is tuned in."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from hidet.cost import Work
from hidet.lang import cdiv
from hidet.schedules.contraction import known
from hidet.schedules.cuda.pile import pile_shape
from hidet.schedules.cuda.wgmma_operand import DEPTH, Operand
from hidet.schedules.product import Product
from hidet.schedules.space import choice
from hidet.target import Target
from hidet.types import Size, f32

WARPGROUP = 128
PRODUCER = 32
"""Threads beside those that multiply: a warp, of which one lane starts copies."""
FEW, MANY = 24, 240
"""Registers of a thread that lends most of its own, and of one that borrows: a warpgroup lends to
two, 65,536 in all. PTX ISA: setmaxnreg."""
ALIGNMENT = 1024
"""What arrays in shared memory begin at multiples of."""


@dataclass(frozen=True)
class Warpgroups:
    """A block's tile, its stages, how many blocks share loads, and how many share sums."""

    block: tuple[int, int] = choice(
        (128, 256), (128, 192), (128, 128), (128, 64), (64, 256), (64, 128), (64, 64)
    )
    stages: int = choice(4, 3, 6)
    cluster: int = choice(1, 2)
    slices: int = choice(1, 2, 4, 8)

    @property
    def columns(self) -> int:
        """Columns of a tile; a warpgroup has all of them, and 64 rows."""
        return self.block[1]

    @property
    def consumers(self) -> int:
        """Threads that multiply."""
        return self.block[0] // 64 * WARPGROUP

    @property
    def borrows(self) -> bool:
        """Whether a third warpgroup brings tiles, and lends its registers to those with many sums.

        Each quarter of a multiprocessor has its own registers: a single warp takes as many away.
        """
        return self.slices == 1 and self.consumers == 2 * WARPGROUP and self.columns > 128

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.consumers + (WARPGROUP if self.borrows else PRODUCER)

    @property
    def registers(self) -> int:
        """Registers of a thread at the start, estimated: sums, addresses and what writing needs."""
        return 168 if self.borrows else self.columns // 2 + 40

    def sides(self, p: Product) -> tuple[Operand, Operand]:
        """The operands' tiles: blocks of a cluster, one below the other, share those of b."""
        return Operand(p, True, self.block[0]), Operand(p, False, self.block[1], self.cluster)

    def shared_bytes(self, p: Product) -> int:
        """The ring, what is about to be written or added, and the barriers."""
        ring = sum(side.nbytes for side in self.sides(p)) * self.stages
        if self.slices > 1:
            extra = prod(pile_shape(self.block, f32)) * f32.nbytes
        else:
            extra = self.consumers // 32 * 16 * (64 + 8) * p.c.dtype.nbytes
        return ring + -(-extra // ALIGNMENT) * ALIGNMENT + 2 * 8 * self.stages

    def resident(self, p: Product, target: Target) -> int:
        """Blocks that a multiprocessor holds at once; their registers are limited to that."""
        if self.slices > 1:
            return 1
        return min(2, target.resident_blocks(self.threads, self.shared_bytes(p), self.registers))

    def grid(self, p: Product) -> tuple[Size, Size]:
        """How many tiles, or pairs of tiles, there are down and across."""
        return cdiv(cdiv(p.m, self.block[0]), self.cluster), cdiv(p.n, self.block[1])

    def tiles(self, p: Product) -> Size:
        """How many tiles, or pairs of tiles, there are in all."""
        down, across = self.grid(p)
        return down * across * p.batch

    def fits_on(self, p: Product, target: Target) -> bool:
        """Whether the parts of tiles are whole, slices have enough to do, and there is room."""
        turns = -(-known(p.k) // DEPTH)
        return (
            all(side.divided for side in self.sides(p))
            and self.shared_bytes(p) <= target.max_shared_bytes_per_block
            and (self.cluster == 1 or self.slices == 1)
            and (self.slices == 1 or (isinstance(p.k, int) and turns >= 2 * self.slices))
        )

    def work_on(self, p: Product, target: Target) -> Work:
        """Whole tiles; what the copy engine brings, and the filling of the ring."""
        rows, columns = self.block
        down, across = -(-known(p.m) // rows), -(-known(p.n) // columns)
        blocks = down * across * known(p.batch) * self.slices
        turns = -(-known(p.k) // (DEPTH * self.slices))
        read, written = p.nbytes
        return Work(
            read,
            written,
            2.0 * blocks * turns * DEPTH * rows * columns,
            p.a.dtype.name,
            blocks,
            self.threads,
            tensor_core=True,
            shared_bytes=self.shared_bytes(p),
            registers=self.registers,
            rounds=turns,
        )
