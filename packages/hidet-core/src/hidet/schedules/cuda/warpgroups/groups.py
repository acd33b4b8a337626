"""How a contraction is divided among warpgroups: the space of `matmul_wgmma` and `conv_wgmma`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2, prod
from typing import Any

from hidet.cost import REACHED_RATE, Work
from hidet.ir.kernel import PdlTrigger
from hidet.lang import cdiv, minimum
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.cluster_partials import partials_shape
from hidet.schedules.cuda.warpgroups.operand import Operand
from hidet.schedules.forms import Formed
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import WARP, WARPGROUP, Target
from hidet.types import DType, Size, f16, f32, i32

PRODUCER = WARP
"""Threads beside those that multiply: a warp, of which one lane starts copies."""
PRODUCER_REGISTERS, CONSUMER_REGISTERS = 40, 232
"""Registers of a thread that loads, and of one that multiplies, after register reallocation: one
warpgroup loads for two, 65,536 registers in all. PTX ISA: setmaxnreg."""
MOST_RESIDENT = 4
"""Blocks that a multiprocessor holds at most: more than that wait for each other."""
BETWEEN = 50
"""Cycles from one tile to the next; an estimate."""
PIECE = 64
"""Rows and columns that a warpgroup writes at once."""
ALIGNMENT = 1024
"""The alignment of arrays in shared memory, in bytes."""


def clock_of(target: Target) -> float:
    """Cycles per second at which the published rate of tensor cores holds."""
    return target.peak_flops(f16.name, True) / target.cores / target.measured.wgmma.rate


def accumulator_type(of: DType) -> DType:
    """The type of accumulators: sums of integers are exact."""
    return i32 if of.is_integer else f32


@dataclass(frozen=True)
class Warpgroups(Formed):
    """A block's tile, the stages of its pipeline, and split-K."""

    block: tuple[int, int] = choice(
        (128, 256), (128, 192), (128, 128), (128, 64), (64, 256), (64, 192), (64, 128), (64, 64)
    )
    stages: int = choice(8, 6, 4, 3, 2)
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
    def reallocates(self) -> bool:
        """Whether a third warpgroup loads tiles and gives registers to the two with many
        accumulators.

        Each quarter of a multiprocessor has its own registers: a single warp would take as many.
        """
        return self.slices == 1 and self.consumers == 2 * WARPGROUP and self.columns > 128

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.consumers + (WARPGROUP if self.reallocates else PRODUCER)

    @property
    def registers(self) -> int:
        """Registers of a thread at the start, estimated: accumulators, addresses, epilogue."""
        return 168 if self.reallocates else self.columns // 2 + 40

    @abstractmethod
    def sides(self, p: Any) -> tuple[Operand, Operand]:
        """The operands' tiles."""

    def ahead(self, p: Contraction) -> Sequence[str]:
        """The operands that may be loaded ahead of the wait for the kernels before."""
        return ["b"] if self.sides(p)[1].ahead else []

    def shared_bytes(self, p: Contraction) -> int:
        """The pipeline, the staged rows or the partials, and the barriers."""
        pipeline = sum(side.nbytes for side in self.sides(p)) * self.stages
        if self.slices > 1:
            wide = accumulator_type(p.a.dtype)
            extra = prod(partials_shape(self.block, wide)) * wide.nbytes
        else:
            extra = self.consumers // WARP * 16 * (64 + 8) * p.c.dtype.nbytes
        return pipeline + -(-extra // ALIGNMENT) * ALIGNMENT + 2 * 8 * self.stages

    def resident(self, p: Contraction, target: Target) -> int:
        """Blocks that a multiprocessor holds at once; their registers are limited to that.

        While one writes, others multiply.
        """
        if self.slices > 1:
            return 1
        fitting = target.resident_blocks(self.threads, self.shared_bytes(p), self.registers)
        return max(1, min(MOST_RESIDENT, fitting))

    def grid(self, p: Contraction) -> tuple[Size, Size]:
        """How many tiles there are down and across."""
        return cdiv(p.m, self.block[0]), cdiv(p.n, self.block[1])

    def tiles(self, p: Contraction) -> Size:
        """How many tiles there are in all."""
        down, across = self.grid(p)
        return down * across * p.batch

    def blocks(self, p: Contraction, target: Target) -> Size:
        """Blocks of the grid: as many as run at once, or a cluster for each tile."""
        if self.slices > 1:
            return self.tiles(p) * self.slices
        found: Size = minimum(self.tiles(p), self.resident(p, target) * target.cores)
        return found

    def pdl_trigger(self, p: Contraction, target: Target) -> PdlTrigger:
        """When the next kernel may begin: at the end of blocks that are alone on multiprocessors
        and take several tiles, since some of them have fewer and are done long before the others.
        Llama's gate matmul, 256 tiles on 132 multiprocessors: blocks of the next kernel that began
        there cost 5 us (H200). Where only a call tells how many tiles there are, the kernel
        looks."""
        tiles = self.tiles(p)
        if self.slices > 1 or self.resident(p, target) > 1:
            return PdlTrigger.READ
        if not isinstance(tiles, int):
            return PdlTrigger.ONLY_TILE
        return PdlTrigger.END if tiles > target.cores else PdlTrigger.READ

    def iterations(self, p: Contraction) -> int:
        """In how many k-iterations a block multiplies a tile; an estimate if k is unknown."""
        return -(-estimated(self.sides(p)[0].iterations) // self.slices)

    def fits_on(self, p: Contraction, target: Target) -> bool:
        """Whether split-K leaves each block enough iterations, and there is room."""
        return self.shared_bytes(p) <= target.max_shared_bytes_per_block and (
            self.slices == 1 or (isinstance(p.k, int) and self.iterations(p) >= 2)
        )

    def cycles(
        self, p: Contraction, target: Target, tiles: int, together: int
    ) -> tuple[float, float]:
        """How long one of so many blocks on a multiprocessor takes for so many tiles, and how much
        of that after all operands have come."""
        times, clock, iterations = target.measured, clock_of(target), self.iterations(p)
        taken, busy = times.wgmma, self.busy(p, target)
        waiting = times.iteration_overhead * clock + taken.copy_latency / self.stages
        alone = iterations * max(busy, taken.mma_latency, waiting)
        if self.slices > 1:
            partials = prod(self.block) * accumulator_type(p.a.dtype).nbytes
            adding = times.cluster_reduction * clock
            adding += log2(self.slices) * partials * taken.partial_byte
            return tiles * (alone + adding), adding
        pieces = self.columns / PIECE
        moving = pieces * self.block[0] / PIECE * taken.epilogue_exclusive
        writing = PIECE * self.columns * times.epilogue_element * clock
        # While one writes, others multiply; at the end only some are left, and write faster.
        shared = together * (iterations * busy + moving)
        each, last = max(shared, alone + writing) + BETWEEN, max(shared, alone + writing / 2)
        return (tiles - 1) * each + last, writing / 2

    def busy(self, p: Contraction, target: Target) -> float:
        """Cycles of an iteration: products, shared memory, or copies, whichever take longest."""
        taken, blocks = target.measured.wgmma, estimated(self.tiles(p)) * self.slices
        rows, columns = self.block
        sides = self.sides(p)
        depth = sides[0].row_bytes
        # Half as wide, twice as many at a time: all types take as long for a stage.
        products = rows * columns * depth / taken.rate * taken.contention
        loaded = sum(side.loaded_bytes for side in sides)
        read = rows // 64 * (64 + columns) * depth
        moved = (loaded + read) / taken.shared_bandwidth
        if self.slices > 1:
            moved *= taken.split_k_contention
        share = min(1.0, blocks / target.cores)
        copied = sum(side.copying(taken, share) for side in sides) * taken.copied_row
        return max(products, moved, copied)

    def work_on(self, p: Contraction, target: Target) -> Work:
        """Tiles one after the other: blocks stay, and the next tile is loaded meanwhile.

        What the operations count is the time that the model gives to so many of them.
        """
        rows, columns = self.block
        tiles = -(-estimated(p.m) // rows) * -(-estimated(p.n) // columns) * estimated(p.batch)
        places = max(1, target.cores_in_clusters(self.slices) // self.slices)
        together = max(1, min(self.resident(p, target), -(-tiles // places)))
        blocks, each = min(tiles, places) * self.slices, -(-tiles // (places * together))
        read, written = p.nbytes
        published = target.measured.wgmma.rate * f16.nbytes / p.a.dtype.nbytes
        rate = published * REACHED_RATE
        cycles, after = self.cycles(p, target, each, together)
        return Work(
            read,
            written,
            blocks * (cycles - after) * rate,
            p.a.dtype.name,
            blocks,
            self.threads,
            tensor_core=True,
            shared_bytes=self.shared_bytes(p),
            registers=self.registers,
            epilogue=after / clock_of(target),
        )
