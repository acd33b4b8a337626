"""How attention is divided among warpgroups: the space of `attention_wgmma`."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from hidet.cost import REACHED_RATE, Work
from hidet.ops.products.attention import Attention
from hidet.schedules.attention import Rows, rows_of
from hidet.schedules.cuda.warpgroups.staged_store import staging_shape
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import WARP, WARPGROUP, Target

HEIGHT = 64
"""Rows of a warpgroup."""
PANEL = 64
"""Elements of a row that are contiguous in shared memory: 128 bytes, the widest swizzle."""
WIDEST = 256
"""Columns of a product by `wgmma`, at most."""
PRODUCER_REGISTERS, STEP = 24, 8
"""Registers of a thread that loads, and what counts are multiples of. PTX ISA: setmaxnreg."""
EXPONENTIALS_PER_CYCLE = 16
"""Exponentials that a multiprocessor computes in a cycle, as published."""
MOST_CONSUMER_REGISTERS = 240
"""Registers of a thread that multiplies, at most."""
OTHER_REGISTERS = 30
"""Registers of a thread that multiplies, other than operands and accumulators."""


@dataclass(frozen=True)
class Groups:
    """Warpgroups of a block, keys of a tile, pipeline stages, blocks of a multiprocessor."""

    groups: int = choice(1, 2, 3)
    keys: int = choice(128, 64, 96, 80)
    stages: int = choice(2, 3)
    resident: int = choice(2, 1, 3)

    @property
    def rows(self) -> int:
        """Rows of a block."""
        return self.groups * HEIGHT

    @property
    def consumers(self) -> int:
        """Threads that multiply."""
        return self.groups * WARPGROUP

    @property
    def threads(self) -> int:
        """Threads of a block: another warpgroup loads tiles and gives registers to the others."""
        return self.consumers + WARPGROUP

    def padded(self, rows: Rows) -> tuple[int, int]:
        """The sizes of rows of k and v in tiles: whole panels."""
        return -(-rows.size // PANEL) * PANEL, -(-rows.width // PANEL) * PANEL

    def registers(self, target: Target) -> int:
        """Registers of a thread at the start."""
        return target.registers_per_sm // (self.threads * self.resident) // STEP * STEP

    def consumer_registers(self, target: Target) -> int:
        """Registers of a thread that multiplies."""
        free = (self.groups + 1) * self.registers(target) - PRODUCER_REGISTERS
        return min(free // self.groups // STEP * STEP, MOST_CONSUMER_REGISTERS)

    def needed_registers(self, rows: Rows) -> int:
        """Registers that a thread needs to multiply, estimated."""
        return (self.padded(rows)[1] + self.keys * 3 // 2) // 2 + OTHER_REGISTERS

    def shared_bytes(self, rows: Rows) -> int:
        """Tiles of q, k and v, staged rows, and barriers."""
        size, width = self.padded(rows)
        tiles = self.rows * size + self.stages * self.keys * (size + width)
        staged = prod(staging_shape(self.consumers // WARP))
        return (tiles + staged) * rows.op.q.dtype.nbytes + 2 * 2 * 8 * self.stages

    def iterations(self, rows: Rows) -> int:
        """How many tiles of keys a block reads, if it sees all."""
        return -(-estimated(rows.keys) // self.keys)

    def fits(self, op: Attention, target: Target) -> bool:
        """Whether there is room for so many blocks at once."""
        rows = rows_of(op)
        there = target.resident_blocks(
            self.threads, self.shared_bytes(rows), self.registers(target)
        )
        own, most = self.registers(target), self.consumer_registers(target)
        enough = own < most >= self.needed_registers(rows)
        return there >= self.resident and enough and self.padded(rows)[1] <= WIDEST

    def cycles(self, rows: Rows, target: Target, together: float) -> float:
        """Cycles of a tile of keys, where `together` blocks share a multiprocessor."""
        taken, warpgroups = target.measured.attention_groups, self.groups * together
        products = 2 * HEIGHT * self.keys * sum(self.padded(rows)) / target.measured.wgmma.rate
        exponentials = HEIGHT * self.keys / EXPONENTIALS_PER_CYCLE
        each = products + taken.exposed_softmax * exponentials + taken.iteration_overhead
        shared: float = warpgroups * each * taken.overlap_gain ** max(0, warpgroups - 2)
        alone = products + taken.serial_softmax * exponentials + taken.iteration_latency
        copied = together * self.copying(rows, target)
        return max(shared, alone, copied) * (taken.causal if rows.op.causal else 1)

    def copying(self, rows: Rows, target: Target) -> float:
        """Cycles in which TMA loads a block's tiles of k and v; panels that rows fill in part take
        longer."""
        taken, pieces = target.measured.wgmma, 0.0
        for size in (rows.size, rows.width):
            pieces += size // PANEL + (taken.partial_row if size % PANEL else 0.0)
        return pieces * self.keys * taken.copied_row

    def busy(self, rows: Rows, target: Target, blocks: int) -> float:
        """How many cycles the multiprocessors are busy with so many blocks."""
        places, iterations = target.cores * self.resident, self.iterations(rows)
        there = min(self.resident, -(-blocks // target.cores))
        turnaround = target.measured.attention_groups.block_turnaround
        tile = self.cycles(rows, target, there)
        if not rows.op.causal or rows.together:
            return -(-blocks // places) * (iterations * tile + turnaround) - turnaround
        # Short blocks fill the gaps that long ones leave; beside the longest run others.
        seen = 0.5 + 0.5 * min(1.0, self.rows / estimated(rows.keys))
        longest = iterations * self.cycles(rows, target, 1 + (there - 1) * seen)
        return max(longest, blocks / places * (iterations * seen * tile + turnaround) - turnaround)

    def work(self, op: Attention, target: Target) -> Work:
        """What the operations count is the time that the model gives to so many of them."""
        rows = rows_of(op)
        blocks = -(-estimated(rows.count) // self.rows) * estimated(rows.stacks)
        cores = min(blocks, target.cores)
        rate = target.measured.wgmma.rate * REACHED_RATE
        read, written = rows.nbytes
        return Work(
            read,
            written,
            cores * self.busy(rows, target, blocks) * rate,
            op.q.dtype.name,
            cores,
            self.threads,
            tensor_core=True,
            shared_bytes=self.shared_bytes(rows),
            registers=self.registers(target),
        )
