"""How attention is divided among blocks and warps: the space of `attention_mma`."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.cost import CACHE_GAIN, Work, seconds
from hidet.ops.products.attention import Attention
from hidet.schedules.attention import Rows, rows_of
from hidet.schedules.cuda.attention.mma import MmaProducts
from hidet.schedules.cuda.attention.products import Products
from hidet.schedules.cuda.attention.tf32 import Tf32Products, tf32_products
from hidet.schedules.cuda.registers import enough_registers
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import ACCESS_BYTES, WARP, Target
from hidet.types import f32, tf32

REGISTER_SIZE = 128
"""The longest rows of q that stay in registers."""
FEWEST_KEYS = 16
"""Keys of a tile only where rows of v are longer than that: more of them find no room."""
CLUSTER_REDUCTION, COMBINE_KERNEL, CROSS_WARP_REDUCTION = 2.0, 1.0, 0.25
"""Memory latencies that barriers of a cluster, the second kernel and a block's barrier take;
estimates."""
REMOTE_PARTIAL, LOCAL_PARTIAL = 1 / 4, 1 / 16
"""Memory latencies of one partial, in other blocks of a cluster and in the own one."""
SINGLE_ROUNDS = 1 / 56000
"""The part of a memory latency in which a warp multiplies an element of a row and a key in tf32."""
IMBALANCE = 4 / 3
"""How much longer than the mean the slowest multiprocessor takes, where all blocks begin at once
and chance gives it rows that see many keys; an estimate."""
ROTATING = 1.02
"""How much longer it takes where one tile of keys is loaded while rows of q are rotated, as in most
causal models, and not two: 1.3 of 10.2 us for Llama's 512 rows."""
NEXT_WAVE = 0.3e-6
"""Seconds in which a wave of blocks after the first waits for its rows; an estimate."""
ENOUGH_WARPS = 8
"""Warps of a multiprocessor with which both products reach the rate that was measured; an
estimate."""


@dataclass(frozen=True)
class Blocks:
    """Rows and keys of a block's tiles, warps along both, pipeline stages, split-K."""

    rows: int = choice(64, 128, 32, 16)
    keys: int = choice(64, 128, 32, 256, 16)
    warps: tuple[int, int] = choice((4, 1), (2, 2), (1, 4), (2, 1), (1, 2), (8, 1), (2, 4), (1, 8))
    stages: int = choice(2, 1, 3, 4)
    slices: int = choice(1, 2, 4, 8, 16, 32)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return WARP * self.warps[0] * self.warps[1]

    @property
    def part(self) -> tuple[int, int]:
        """Rows and keys of one warp."""
        return self.rows // self.warps[0], self.keys // self.warps[1]

    def q_in_registers(self, rows: Rows) -> bool:
        """Whether a warp's rows of q stay in registers."""
        return self.part[0] == 16 and rows.size <= REGISTER_SIZE and not rows.single

    def padded(self, rows: Rows) -> tuple[int, int]:
        """The sizes of rows of k and v in tiles: whole fragments."""
        return -(-rows.size // 16) * 16, -(-rows.width // 16) * 16

    def emulated(self, rows: Rows) -> bool:
        """Whether products are by 3xTF32, which knows no infinities."""
        return rows.single and tf32_products() > 1

    def unit(self, rows: Rows) -> tuple[str, bool, int]:
        """The type that multiplies, whether on tensor cores, and how many of its products stand for
        one."""
        if rows.single:
            return tf32.name, True, tf32_products()
        return rows.op.q.dtype.name, True, 1

    def products(self, rows: Rows) -> type[Products]:
        """The record of the two matmuls."""
        return Tf32Products if rows.single else MmaProducts

    def clustered(self, target: Target) -> bool:
        """Whether the blocks that divide the keys are a cluster, and so one kernel is enough."""
        return 1 < self.slices <= target.max_blocks_per_cluster

    def registers(self, rows: Rows) -> int:
        """Registers of a thread, estimated."""
        size, width = self.padded(rows)
        height, keys = self.part
        if rows.single:  # two accumulators of each score, then two parts of each weight
            return height * (width + keys * 5 // 2) // WARP + 56
        q = height * size // WARP // 2 if self.q_in_registers(rows) else 0
        return height * (width + keys + keys // 8) // WARP + q + 48

    def least_registers(self, rows: Rows) -> int:
        """Registers without which the compiler spills; `registers` is what a thread takes where
        blocks leave each other room."""
        (_, width), (height, keys) = self.padded(rows), self.part
        if not rows.single:
            return self.registers(rows) + height // 2
        # Both parts of weights stay while one group of columns after the other is summed.
        scores = keys if width <= WARP else 2 * keys
        return height * (width + scores) // WARP + 2 * height + 64

    def shared_bytes(self, rows: Rows) -> int:
        """Tiles of q, k and v, and the partials of warps and blocks."""
        size, width = self.padded(rows)
        vector = ACCESS_BYTES // rows.op.q.dtype.nbytes
        tiles = self.rows * (size + vector)
        tiles += self.stages * self.keys * (size + width + 2 * vector)
        split = self.warps[1] > 1 or self.slices > 1
        partials = self.warps[1] * self.rows * (width + 10) * 4 if split else 0
        return tiles * rows.op.q.dtype.nbytes + partials

    def iterations(self, rows: Rows) -> int:
        """How many tiles of keys a block reads, if it sees all."""
        return -(-estimated(rows.keys) // (self.keys * self.slices))

    def fits(self, op: Attention, target: Target) -> bool:
        """Whether warps have whole fragments, stages have keys, and there is room."""
        rows = rows_of(op)
        height, keys = self.part
        if isinstance(rows.keys, int):
            iterations = self.iterations(rows)
            enough = min(2, iterations) <= self.stages <= iterations
            enough = enough and self.keys * (self.slices - 1) < rows.keys
        else:
            enough = self.stages > 1 and self.slices == 1
        return (
            enough
            and self.rows % self.warps[0] == self.keys % self.warps[1] == 0
            and height in (16, 32)
            and keys % 16 == 0
            and (self.keys > FEWEST_KEYS or rows.width > REGISTER_SIZE)
            and enough_registers(target, self.registers(rows), self.least_registers(rows))
            and self.shared_bytes(rows) <= target.max_shared_bytes_per_block
        )

    def step(self, rows: Rows) -> float:
        """Memory latencies that a warp takes for a tile of keys."""
        (size, _), (height, keys) = self.padded(rows), self.part
        if rows.single:
            return 0.5 + tf32_products() * height * keys * size * SINGLE_ROUNDS
        return 0.5 + size / 256 + keys / 128

    def rounds(self, rows: Rows, blocks: int, seen: float, target: Target) -> float:
        """Memory latencies that products and softmax of other warps do not hide."""
        # Where all blocks run at once, the one that sees all keys is the last.
        share = 1.0 if blocks <= target.cores * self.resident(rows, target) else seen
        step = max(self.step(rows), 1 / max(self.stages - 1, 1))
        waits = 1 + self.iterations(rows) * share * step
        if self.clustered(target):
            return waits + CLUSTER_REDUCTION + REMOTE_PARTIAL * self.slices * self.warps[1]
        if self.slices > 1:
            return waits + COMBINE_KERNEL
        if self.warps[1] > 1:
            return waits + CROSS_WARP_REDUCTION + LOCAL_PARTIAL * self.warps[1]
        return waits

    def resident(self, rows: Rows, target: Target) -> int:
        """How many blocks a multiprocessor holds at once."""
        shared, registers = self.shared_bytes(rows), self.registers(rows)
        return max(1, target.resident_blocks(self.threads, shared, registers))

    def wave(self, rows: Rows, target: Target) -> int:
        """Blocks that begin at once, one on each multiprocessor, where these hold several and all
        blocks find room; 0 where some blocks wait, or all have equal work."""
        even = not rows.op.causal or rows.together or self.slices > 1
        if even or not isinstance(rows.count, int) or not isinstance(rows.stacks, int):
            return 0
        blocks = -(-rows.count // self.rows) * rows.stacks
        room = target.cores * self.resident(rows, target)
        return target.cores if target.cores < blocks <= room else 0

    def busy(self, rows: Rows, blocks: int, target: Target) -> float:
        """The part of the rate that is reached: few warps hide little latency, small tiles have a
        large overhead."""
        there = min(self.resident(rows, target), -(-blocks // target.cores))
        height, keys = self.part
        measured = target.measured
        reached = measured.attention_single if rows.single else measured.attention
        # Warps of few rows divide each key into parts for these rows alone.
        part = 1 + 4 / height if rows.single else (1 + 5 / keys) * (1 + 1 / height)
        # While its warps wait at a barrier, a block alone leaves the multiprocessor idle.
        overhead = part * (1 + 4 / self.rows) * (1.05 if there == 1 else 1)
        waiting = blocks > target.cores * self.resident(rows, target)
        if rows.op.causal and there > 1 and not waiting and not self.wave(rows, target):
            overhead *= IMBALANCE
        if rows.op.causal and self.stages < 3 and not rows.single:
            overhead *= ROTATING
        return reached * min(1.0, there * self.threads / WARP / ENOUGH_WARPS) / overhead

    def work(self, op: Attention, target: Target) -> Work:
        """What the kernels read, write and multiply: about half of it where rows are causal."""
        rows = rows_of(op)
        size, width = self.padded(rows)
        blocks = -(-estimated(rows.count) // self.rows) * estimated(rows.stacks) * self.slices
        seen = 0.5 + 0.5 / self.iterations(rows) / self.slices if op.causal else 1.0
        elements = blocks * self.iterations(rows) * self.keys * seen
        read, written = rows.nbytes
        again = max(0.0, elements * (size + width) * op.q.dtype.nbytes - read) / CACHE_GAIN
        apart = self.slices > 1 and not self.clustered(target)
        partial = 4.0 * blocks * self.rows * width if apart else 0.0
        busy = self.busy(rows, blocks, target)
        unit, tensor_core, times = self.unit(rows)
        waves = -(-blocks // (self.resident(rows, target) * target.cores))
        return Work(
            read + again + partial,
            written + partial,
            2.0 * elements * self.rows * (size + width) * times / busy,
            unit,
            blocks,
            self.threads,
            tensor_core=tensor_core,
            launches=2 if apart else 1,
            shared_bytes=self.shared_bytes(rows),
            registers=self.registers(rows),
            latencies=self.rounds(rows, blocks, seen, target),
            epilogue=(waves - 1) * NEXT_WAVE,
        )


def pays(rows: Rows, target: Target, unit: str, reached: float) -> bool:
    """Whether fused attention in float32 is faster than two matmuls with the scores in memory.

    `unit` is the type by which the fused kernel multiplies, on tensor cores if that is tf32, and
    `reached` the part of a large matmul's rate that it reaches.
    """
    scores, (read, written) = 4.0 * rows.pairs(), rows.nbytes
    flops = 2.0 * rows.pairs() * (rows.size + rows.width)
    cores, tensor_cores = target.cores, tf32_products() == 1
    single = (tf32 if tensor_cores else f32).name
    apart = (
        Work(read + scores, written + scores, flops, single, cores, tensor_core=tensor_cores),
        Work(scores, scores, 0.0, single, cores, launches=2),
    )
    seen, tensor_core = 0.5 if rows.op.causal else 1.0, unit == tf32.name
    whole = Work(read, written, flops * seen / reached, unit, cores, tensor_core=tensor_core)
    return seconds(whole, target) <= sum(seconds(work, target) for work in apart)
