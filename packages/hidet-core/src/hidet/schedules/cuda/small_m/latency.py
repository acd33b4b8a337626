"""How long a small-M matmul takes: what its reads wait for, and what threads do with them.

The times are the target's (`hidet.target.measured`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from hidet.cost import LATENCY_SECONDS, WAVE_SECONDS, Work
from hidet.schedules.cuda.small_m.reading import Reading
from hidet.schedules.typical import estimated, size_bytes
from hidet.target import Target
from hidet.target.measured import SmallMTimes

ADDRESSES = 20
"""Registers of a thread beside sums and what is under way; what NVRTC takes."""
PAIRS = 32
"""Registers in which neighbours along k become pairs, where they come from different reads."""


@dataclass(frozen=True)
class Latency:
    """The time of a product at a point, whose blocks wait for memory side by side."""

    reading: Reading
    target: Target
    by_units: bool
    """Whether tensor cores multiply, all rows of a at once."""

    @property
    def times(self) -> SmallMTimes:
        """What was measured of the target."""
        return self.target.measured.small_m

    @property
    def blocks(self) -> int:
        """All blocks."""
        p, slices = self.reading.p, self.reading.point.slices
        return -(-estimated(p.n) // self.reading.columns) * slices * estimated(p.batch)

    @property
    def registers(self) -> int:
        """Registers of a thread, estimated: sums, what is under way, and addresses."""
        reading, p = self.reading, self.reading.p
        held = reading.reads * reading.nbytes // 4
        row = reading.depth * (p.a.dtype if self.by_units else p.wide).nbytes // 4
        pairs = PAIRS if self.by_units and not p.b_along_k else 0
        return prod(reading.accumulators) * p.wide.nbytes // 4 + held + row + pairs + ADDRESSES

    @property
    def shared_bytes(self) -> int:
        """The parts of sums."""
        reading = self.reading
        return reading.parts * reading.rows * reading.columns * reading.p.wide.nbytes

    def of_block(self) -> float:
        """The seconds of a block that waits for nothing but its own reads."""
        reading, times = self.reading, self.times
        steps = -(-estimated(reading.p.k) // (reading.step * reading.point.slices))
        rounds = steps * reading.vectors / min(reading.reads, times.loads_in_flight)
        rows = 1 if self.by_units else reading.rows
        cluster = times.cluster_reduction if reading.point.slices > 1 else 0.0
        after = prod(reading.accumulators) * times.reduced_accumulator + cluster
        return (
            times.block_overhead
            + rounds * times.load_latency
            + steps * rows * times.row_step
            + after
        )

    def of_all(self) -> float:
        """The seconds in which memory gives all of b, and multiprocessors take it: these go on
        beside each other, though not quite."""
        p = self.reading.p
        memory = size_bytes(p.b_stored) / (
            self.target.memory_bandwidth * self.times.read_efficiency
        )
        taken = self.handed() if self.by_units else self.multiplied()
        return float((memory**3 + taken**3) ** (1 / 3))

    def handed(self) -> float:
        """The seconds in which registers become operands of tensor cores; pairs along k may have to
        be put together first."""
        p = self.reading.p
        moved = size_bytes(p.b) * (1 if p.b_along_k else 2)
        return moved / (self.times.fragment_bandwidth * self.target.cores)

    def multiplied(self) -> float:
        """The seconds of products on CUDA cores, and of all that comes from first caches."""
        p, reading = self.reading.p, self.reading
        products = (
            p.flops
            * reading.effort
            / (self.target.peak_flops(p.wide.name) * self.times.fma_efficiency)
        )
        own = reading.vectors * reading.nbytes
        rows = reading.rows * reading.depth * p.a.dtype.nbytes / own
        near = size_bytes(p.b_stored) * (
            1 + rows * (1.0 if p.b_along_k else self.times.row_conflict)
        )
        return products + near / (self.times.l1_bandwidth * self.target.cores)

    def work(self) -> Work:
        """Blocks of a wave share the memory; the last wave takes a block's own time, at least."""
        reading, p, target = self.reading, self.reading.p, self.target
        threads, usable = reading.point.threads, target.cores_in_clusters(reading.point.slices)
        held = target.resident_blocks(threads, self.shared_bytes, self.registers)
        places = max(1, held) * usable
        whole, rest = divmod(self.blocks, places)
        alone, each = self.of_block(), self.of_all() / self.blocks
        seconds = whole * max(places * each, alone) + (max(rest * each, alone) if rest else 0.0)
        seconds += alone * self.times.ramp - WAVE_SECONDS  # which is counted for each wave
        return Work(
            *p.nbytes, p.flops, (p.a.dtype if self.by_units else p.wide).name,
            min(self.blocks, places), threads, self.by_units,
            shared_bytes=self.shared_bytes, registers=self.registers,
            latencies=max(0.0, seconds) / LATENCY_SECONDS,
        )  # fmt: skip
