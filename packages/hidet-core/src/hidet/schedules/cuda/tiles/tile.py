"""Contractions by tiles in shared memory: what tensor cores and CUDA cores share.

A block owns a tile of the result, in registers. While its threads multiply one pair of tiles in
shared memory, the next one is on its way. Where the grid is too small for the device, k is
split among blocks. Those of a cluster add their partials in each other's shared memory; without
clusters, or with more blocks than a cluster holds, a second kernel adds them.
"""

from __future__ import annotations

from abc import abstractmethod
from math import prod
from typing import Any

from hidet.cost import Work
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
from hidet.schedules.cuda.tiles.timeline import Iteration, Timeline, sharing
from hidet.schedules.forms import Formed
from hidet.schedules.typical import estimated
from hidet.target import ACCESS_BYTES, WARP, Target
from hidet.types import DType

IN_FLIGHT = 4
"""Split-K partials that a second kernel reads within one memory latency; NVRTC unrolls so many."""


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
    def accumulators(self) -> tuple[int, ...]:
        """The shape of a thread's accumulators."""

    @abstractmethod
    def accumulator_type(self, p: Contraction) -> DType:
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
    def divides_evenly(self) -> bool:
        """Whether threads divide the block's tile evenly."""

    @abstractmethod
    def registers(self, p: Contraction) -> int:
        """Registers of a thread, estimated."""

    def least_registers(self, p: Contraction) -> int:
        """The registers of a thread below which the compiler spills."""
        return self.registers(p)

    @abstractmethod
    def multiply(self, operands: Operands, accumulators: Registers, buffer: Int) -> None:
        """A part of kernels: a thread adds its part of the product of a pair of tiles to its
        accumulators."""

    @abstractmethod
    def write(
        self, accumulators: Registers, wide: DType, out: Any, z: Any, top: Int, left: Int
    ) -> None:
        """A part of kernels: a thread writes its accumulators, as numbers of type `wide`, to an
        `Epilogue`, or to a `Partial` for other blocks."""

    tensor_core = False
    buffers = 2
    """Tiles of each operand in shared memory at once."""

    @part
    def accumulate(self, operands: Operands, accumulators: Registers, iterations: Any) -> None:
        """The main loop: add the products of `iterations` pairs of tiles to the accumulators."""
        through_registers(operands, Products(self), accumulators, iterations)

    def partial_type(self, p: Contraction) -> DType:
        """The type of split-K partials."""
        return self.accumulator_type(p)

    def unit(self, p: Contraction) -> str:
        """The type by whose rate the target's units multiply."""
        return self.accumulator_type(p).name

    def in_cluster(self, target: Target) -> bool:
        """Whether the blocks of a split k are one cluster, so that one kernel is enough."""
        return 1 < self.slices <= target.max_blocks_per_cluster

    def shared_bytes(self, p: Contraction, target: Target) -> int:
        """Bytes of both operands' tiles, and of partials that other blocks of a cluster read."""
        tiles = sum(self.buffers * prod(side.padded) * side.dtype.nbytes for side in self.sides(p))
        if not self.in_cluster(target):
            return tiles
        of = self.partial_type(p)
        return tiles + prod(partials_shape(self.block, of)) * of.nbytes

    def fits_on(self, p: Contraction, target: Target) -> bool:
        """Whether threads divide tiles evenly, each split of k has iterations, and registers and
        shared memory suffice."""
        if not self.divides_evenly() or not all(side.exact for side in self.sides(p)):
            return False
        return (
            enough_registers(target, self.registers(p), self.least_registers(p))
            and self.shared_bytes(p, target) <= target.max_shared_bytes_per_block
            and (self.slices == 1 or (p.allows_split_k and self.has_iterations(p)))
        )

    def has_iterations(self, p: Contraction) -> bool:
        """Whether each block of a split k has at least two iterations."""
        return isinstance(p.k, int) and -(-p.k // self.depth) >= 2 * self.slices

    @abstractmethod
    def rate(self, p: Contraction, target: Target) -> float:
        """Operations per second that a multiprocessor sustains."""

    @abstractmethod
    def fragment_bytes(self, p: Contraction) -> float:
        """Bytes that all threads load from shared memory in an iteration."""

    def operations(self) -> float:
        """Operations of an iteration; a multiply-add counts as two."""
        return 2.0 * prod(self.block) * self.depth

    def waits(self, target: Target) -> tuple[float, float]:
        """The least seconds of an iteration, and the seconds that overlap with nothing: tiles that
        come through registers one iteration ahead expose half of a memory latency."""
        return 0.0, target.measured.memory_latency / 2

    def iteration(self, p: Contraction, target: Target, concurrent: int) -> Iteration:
        """What an iteration of the main loop does, with so many blocks on a multiprocessor."""
        sides, (rows, columns) = self.sides(p), self.block
        latency, serial = self.waits(target)
        return Iteration(
            self.operations(),
            self.rate(p, target),
            self.depth * (rows * p.a.dtype.nbytes + columns * p.b.dtype.nbytes),
            sum(side.stored_bytes for side in sides) + self.fragment_bytes(p),
            self.threads // WARP,
            latency,
            serial + self.gather_seconds(p, target, concurrent),
        )

    def gather_seconds(self, p: Contraction, target: Target, concurrent: int) -> float:
        """Seconds of an iteration to gather elements one by one, or by narrow accesses."""
        times, (rows, columns) = target.measured, self.block
        pieces = rows * narrow(p.a_contiguity, p.a.dtype) + columns * narrow(
            p.b_contiguity, p.b.dtype
        )
        scattered = (rows if p.b_along_k else columns) * p.scattered
        elements = self.depth * (scattered or times.narrow_access * pieces)
        spread: float = self.threads ** (2 / 3) / concurrent**0.25
        return elements * times.gathered_element / spread

    def work_on(self, p: Contraction, target: Target) -> Work:
        """The bytes and operations of the kernel, and the time of its blocks; see `Timeline`."""
        (rows, columns), (read, written) = self.block, p.nbytes
        blocks = p.tiles_down(rows) * -(-estimated(p.n) // columns) * self.slices
        iterations = -(-estimated(p.k) // (self.depth * self.slices))
        cluster = self.slices if self.in_cluster(target) else 1
        second = self.slices > cluster
        partial = float(blocks * rows * columns * self.partial_type(p).nbytes) * second
        resident = max(1, self.resident(p, target))
        each = self.iteration(p, target, sharing(target, blocks, resident, cluster))
        line = Timeline(
            target, each, iterations, rows * columns * (1 + second), blocks, resident, cluster
        )
        return Work(
            read + partial,
            written + partial,
            blocks * iterations * each.operations,
            self.unit(p),
            blocks,
            self.threads,
            tensor_core=self.tensor_core,
            launches=1 + second,
            shared_bytes=self.shared_bytes(p, target),
            registers=self.registers(p),
            latencies=line.latencies + second * (1 + -(-self.slices // IN_FLIGHT)),
            epilogue=line.epilogue,
        )

    def resident(self, p: Contraction, target: Target) -> int:
        """Blocks that one multiprocessor holds."""
        shared = self.shared_bytes(p, target)
        return target.resident_blocks(self.threads, shared, self.registers(p))


def narrow(contiguity: int, of: DType) -> float:
    """For each element: how many more accesses there are than with the widest ones."""
    widest = ACCESS_BYTES // of.nbytes
    return 1 / min(contiguity, widest) - 1 / widest


def tiled(name: str, p: Contraction, tile: Tile, target: Target) -> Module:
    """A contraction as one kernel, or as two where a sum is shared without a cluster."""
    in_cluster = tile.in_cluster(target)
    slices, (rows, columns), depth = tile.slices, tile.block, tile.depth
    wide = tile.accumulator_type(p)
    iterations = cdiv(cdiv(p.k, depth), slices)
    partial_dtype = tile.partial_type(p)
    partial_type = slices_type(p, partial_dtype, tile.block, slices)
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
            attr.cuda_cluster_dim = (1, 1, slices if in_cluster else 1)
            if p.table(rows) is not None and blockIdx.y >= p.used(table, rows):
                return
            share, left = blockIdx.z % slices, blockIdx.x * columns
            z, top = p.place(table, blockIdx.z // slices, blockIdx.y, rows)
            accumulators = register_tensor(wide, tile.accumulators, init=0)
            first = share * iterations * depth
            from_a = Source(side_a, a, side_a.allocate(tile.buffers), z, top)
            from_b = Source(side_b, b, side_b.allocate(tile.buffers), z, left)
            tile.accumulate(Operands(from_a, from_b, first), accumulators, iterations)
            if in_cluster:
                parts = shared_tensor(
                    partial_type.dtype, partials_shape(tile.block, partial_type.dtype)
                )
                tile.write(accumulators, partial_dtype, Partial(parts, 0), 0, 0, 0)
                cluster_sync()
                partials = ClusterPartials(parts, tile.block, tile.threads, slices)
                partials.add(Epilogue(p, bias, c), z, share, top, left)
                # A block's shared memory goes with it: it stays until all others have read there.
                cluster_sync()
            elif slices > 1:
                tile.write(accumulators, partial_dtype, Partial(partial, share), z, top, left)
            else:
                tile.write(accumulators, partial_dtype, Epilogue(p, bias, c), z, top, left)

        apart = slices > 1 and not in_cluster
        adding = [add_slices(name, p, partial_type)] if apart else []
        kernels = [*p.placing(name, rows, target.kind), product, *adding]
    return assemble(name, kernels, names_of(p), ["c"], ["table", "partial"])
