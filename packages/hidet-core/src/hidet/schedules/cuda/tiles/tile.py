"""Contractions by tiles in shared memory: what tensor cores and CUDA cores share.

A block owns a tile of the result, in registers. While its threads multiply one pair of tiles in
shared memory, the next one is on its way. Where the grid is too small for the device, several
k is split among blocks. Those of a cluster add what they found in each other's shared memory;
without clusters, or with more blocks than one holds, a second kernel does.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from math import prod
from typing import Any

from hidet.cost import CACHE_GAIN, ROUND_SECONDS, Work
from hidet.ir.kernel import Module
from hidet.lang import (
    Global,
    Int,
    Registers,
    attr,
    cdiv,
    part,
    register_tensor,
    script,
    script_module,
    shared_tensor,
)
from hidet.lang.cuda import blockIdx, cluster_sync
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.contraction import Contraction, names_of
from hidet.schedules.cuda.cluster_partials import ClusterPartials, partials_shape
from hidet.schedules.cuda.epilogue import Epilogue, Partial
from hidet.schedules.cuda.registers import enough_registers
from hidet.schedules.cuda.slices import add_slices, slices_type
from hidet.schedules.cuda.tiles.main_loop import Operands, Products, through_registers
from hidet.schedules.cuda.tiles.staging import Side, Source
from hidet.schedules.forms import Formed
from hidet.schedules.typical import estimated
from hidet.target import Target
from hidet.types import DType

SCATTERED = 16
"""Elements that a thread finds one by one in the time of one wait for memory; an estimate."""
MEETING = 1
"""Waits for memory that two barriers of a cluster and the reads between them take; an estimate."""
MULTIPLYING = 0.8
"""The part of the published rate at which blocks multiply between their waits."""
BEGINNING = 2
"""Waits for memory that a block takes before its main loop; an estimate."""
WRITING, HANDING = 1.2e-10, 1.2e-10
"""Seconds for an element of a block's tile: to write it, and to hand it over to other blocks."""
IN_FLIGHT = 4
"""Split-K partials that a second kernel reads in one wait for memory; what NVRTC unrolls."""


class Tile(Formed):
    """A point of a space: how a contraction is divided into tiles."""

    block: tuple[int, int]
    """Rows and columns of the result that a block owns."""
    depth: int
    """How much of k is in shared memory at once."""
    slices: int
    """Among how many blocks k is split (split-K)."""

    @property
    @abstractmethod
    def threads(self) -> int:
        """Threads of a block."""

    @property
    @abstractmethod
    def sums(self) -> tuple[int, ...]:
        """The shape of a thread's accumulators."""

    @abstractmethod
    def sum_type(self, p: Contraction) -> DType:
        """The type of the accumulators."""

    @abstractmethod
    def side(self, p: Contraction, left: bool) -> Side:
        """The tiles of a, or of b, in shared memory."""

    def sides(self, p: Contraction) -> tuple[Side, Side]:
        """The tiles of both operands in shared memory."""
        return self.side(p, True), self.side(p, False)

    def extent(self, left: bool) -> int:
        """Rows of a tile of a, or columns of one of b."""
        return self.block[0] if left else self.block[1]

    @abstractmethod
    def shaped(self) -> bool:
        """Whether threads divide the block's tile evenly."""

    @abstractmethod
    def registers(self, p: Contraction) -> int:
        """Registers of a thread, estimated."""

    def least_registers(self, p: Contraction) -> int:
        """Registers without which the compiler spills some."""
        return self.registers(p)

    @abstractmethod
    def busy(self) -> float:
        """The part of the time that the arithmetic units are not waiting for shared memory."""

    @abstractmethod
    def multiply(self, operands: Operands, sums: Registers, number: Int) -> None:
        """A part of kernels: a thread adds its part of the product of a pair of tiles to its
        sums."""

    @abstractmethod
    def write(self, sums: Registers, wide: DType, out: Any, z: Any, top: Int, left: Int) -> None:
        """A part of kernels: a thread's sums go to an `Epilogue`, or as a `Partial` to other
        blocks, as numbers of type `wide`."""

    tensor_core = False
    buffers = 2
    """Tiles of each operand in shared memory at once."""

    @part
    def gather(self, operands: Operands, sums: Registers, turns: Any) -> None:
        """The main loop: the products of `turns` pairs of tiles are added to the sums."""
        through_registers(operands, Products(self), sums, turns)

    def partial_type(self, p: Contraction) -> DType:
        """The type of split-K partials."""
        return self.sum_type(p)

    def unit(self, p: Contraction) -> str:
        """The type by whose rate the target's units multiply."""
        return self.sum_type(p).name

    def together(self, target: Target) -> bool:
        """Whether the blocks that share a sum are a cluster, and so one kernel is enough."""
        return 1 < self.slices <= target.max_blocks_per_cluster

    def shared_bytes(self, p: Contraction, target: Target) -> int:
        """Tiles of both operands, and the sums that other blocks of a cluster read."""
        tiles = sum(self.buffers * prod(side.padded) * side.dtype.nbytes for side in self.sides(p))
        if not self.together(target):
            return tiles
        of = self.partial_type(p)
        return tiles + prod(partials_shape(self.block, of)) * of.nbytes

    def fits_on(self, p: Contraction, target: Target) -> bool:
        """Whether threads divide tiles evenly, slices have enough to do, and there is room."""
        if not self.shaped() or not all(side.exact for side in self.sides(p)):
            return False
        return (
            enough_registers(target, self.registers(p), self.least_registers(p))
            and self.shared_bytes(p, target) <= target.max_shared_bytes_per_block
            and (self.slices == 1 or (p.shares_sums and self.has_turns(p)))
        )

    def has_turns(self, p: Contraction) -> bool:
        """Whether each of the blocks that share a sum has some k-iterations."""
        return isinstance(p.k, int) and -(-p.k // self.depth) >= 2 * self.slices

    def turn_seconds(self, p: Contraction, target: Target, together: int) -> float:
        """What a turn of the main loop takes where so many blocks are on a multiprocessor: it waits
        for memory, and multiplies."""
        rate = target.peak_flops(self.unit(p), self.tensor_core) / target.cores
        products = 2.0 * self.block[0] * self.block[1] * self.depth / self.busy()
        wait = ROUND_SECONDS
        if p.scattered:  # a thread that finds many elements one by one keeps the others waiting
            wait *= 1 + self.block[1] * self.depth / self.threads / SCATTERED
        return wait + together * products / (rate * MULTIPLYING)

    def work_on(self, p: Contraction, target: Target) -> Work:
        """What is moved and computed, while each turn of the main loop waits for memory."""
        work = self.amounts(p, target)
        return replace(work, rounds=self.rounds(p, target, work.blocks))

    def amounts(self, p: Contraction, target: Target) -> Work:
        """What is moved and computed: whole tiles; split-K partials are added up."""
        rows, columns = self.block
        tiles = p.tiles_down(rows) * -(-estimated(p.n) // columns)
        turns = -(-estimated(p.k) // (self.depth * self.slices))
        blocks = tiles * self.slices
        once, written = p.nbytes
        elements = blocks * turns * self.depth
        read = elements * (rows * p.a.dtype.nbytes + columns * p.b.dtype.nbytes) / CACHE_GAIN
        apart = self.slices > 1 and not self.together(target)
        partial = float(blocks * rows * columns * self.partial_type(p).nbytes) if apart else 0.0
        return Work(
            once + read + partial,
            written + partial,
            2.0 * elements * rows * columns / self.busy(),
            self.unit(p),
            blocks,
            self.threads,
            tensor_core=self.tensor_core,
            launches=2 if apart else 1,
            shared_bytes=self.shared_bytes(p, target),
            registers=self.registers(p),
        )

    def rounds(self, p: Contraction, target: Target, blocks: int) -> float:
        """The time of a block, as waits for memory; more where clusters leave multiprocessors
        idle."""
        turns = -(-estimated(p.k) // (self.depth * self.slices))
        usable = target.cores_in_clusters(self.slices if self.together(target) else 1)
        resident = max(1, self.resident(p, target))
        together = min(resident, -(-blocks // usable))
        element = WRITING + (HANDING if self.slices > 1 else 0.0)
        seconds = turns * self.turn_seconds(p, target, together)
        seconds += prod(self.block) * together * element
        rounds = BEGINNING + seconds / ROUND_SECONDS
        if self.together(target):
            rounds += MEETING
        elif self.slices > 1:  # a second kernel has to begin, too, beside what its launch takes
            rounds += 1 + -(-self.slices // IN_FLIGHT)
        waves = -(-blocks // (resident * usable)) / -(-blocks // (resident * target.cores))
        return waves * rounds

    def resident(self, p: Contraction, target: Target) -> int:
        """Blocks that one multiprocessor holds."""
        shared = self.shared_bytes(p, target)
        return target.resident_blocks(self.threads, shared, self.registers(p))


def tiled(name: str, p: Contraction, tile: Tile, target: Target) -> Module:
    """A contraction as one kernel, or as two where a sum is shared without a cluster."""
    together = tile.together(target)
    slices, (rows, columns), depth = tile.slices, tile.block, tile.depth
    wide = tile.sum_type(p)
    turns = cdiv(cdiv(p.k, depth), slices)
    handed = tile.partial_type(p)
    partial_type = slices_type(p, handed, tile.block, slices)
    bias_type = operand_type(p.bias, p.c)
    table_type = operand_type(p.table(rows), p.c)

    side_a, side_b = tile.sides(p)
    with script_module():

        @script(a=p.a, b=p.b, bias=bias_type, table=table_type, partial=partial_type, c=p.c)
        def product(
            a: Global, b: Global, bias: Global, table: Global, partial: Global, c: Global
        ) -> None:
            attr.func_name = name
            attr.cuda_grid_dim = (cdiv(p.n, columns), p.down(rows), p.batch * slices)
            attr.cuda_block_dim = tile.threads
            attr.cuda_cluster_dim = (1, 1, slices if together else 1)
            if p.table(rows) is not None and blockIdx.y >= p.used(table, rows):
                return
            share, left = blockIdx.z % slices, blockIdx.x * columns
            z, top = p.place(table, blockIdx.z // slices, blockIdx.y, rows)
            sums = register_tensor(wide, tile.sums, init=0)
            first = share * turns * depth
            from_a = Source(side_a, a, side_a.room(tile.buffers), z, top)
            from_b = Source(side_b, b, side_b.room(tile.buffers), z, left)
            tile.gather(Operands(from_a, from_b, first), sums, turns)
            if together:
                parts = shared_tensor(
                    partial_type.dtype, partials_shape(tile.block, partial_type.dtype)
                )
                tile.write(sums, handed, Partial(parts, 0), 0, 0, 0)
                cluster_sync()
                partials = ClusterPartials(parts, tile.block, tile.threads, slices)
                partials.add(Epilogue(p, bias, c), z, share, top, left)
                # A block's shared memory goes with it: it stays until all others have read there.
                cluster_sync()
            elif slices > 1:
                tile.write(sums, handed, Partial(partial, share), z, top, left)
            else:
                tile.write(sums, handed, Epilogue(p, bias, c), z, top, left)

        apart = slices > 1 and not together
        adding = [add_slices(name, p, partial_type)] if apart else []
        kernels = [*p.placing(name, rows, target.kind), product, *adding]
    return assemble(name, kernels, names_of(p), ["c"], ["table", "partial"])
