"""The latency model of small-M matmuls: the loads of threads, and what they do with the data.

The times are the target's (`hidet.target.measured`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from hidet.cost import Work
from hidet.schedules.cuda.small_m.reading import Reading
from hidet.schedules.typical import estimated, size_bytes
from hidet.target import Target
from hidet.target.measured import SmallMTimes

ADDRESSES = 20
"""Registers of a thread beside accumulators and loads in flight; what NVRTC takes."""
PAIRS = 32
"""Registers in which neighbours along k become pairs, where different loads bring them."""


@dataclass(frozen=True)
class Latency:
    """The time of a matmul at a point, whose blocks wait for memory at the same time."""

    reading: Reading
    target: Target
    tensor_cores: bool
    """Whether tensor cores multiply, all rows of a at once."""

    @property
    def times(self) -> SmallMTimes:
        """The measured constants of the target."""
        return self.target.measured.small_m

    @property
    def blocks(self) -> int:
        """The blocks of the grid."""
        p, slices = self.reading.p, self.reading.point.slices
        return -(-estimated(p.n) // self.reading.columns) * slices * estimated(p.batch)

    @property
    def registers(self) -> int:
        """Registers of a thread, estimated: accumulators, loads in flight and addresses."""
        reading, p = self.reading, self.reading.p
        held = reading.reads * reading.nbytes // 4
        row = reading.depth * (p.a.dtype if self.tensor_cores else p.wide).nbytes // 4
        pairs = PAIRS if self.tensor_cores and not p.b_along_k else 0
        return prod(reading.accumulators) * p.wide.nbytes // 4 + held + row + pairs + ADDRESSES

    @property
    def shared_bytes(self) -> int:
        """Bytes of the partial sums of warps."""
        reading = self.reading
        return reading.parts * reading.rows * reading.columns * reading.p.wide.nbytes

    def block_seconds(self) -> float:
        """The seconds of a block that waits for nothing but its own loads."""
        reading, times = self.reading, self.times
        steps = -(-estimated(reading.p.k) // (reading.step * reading.point.slices))
        waits = steps * reading.vectors / min(reading.reads, times.loads_in_flight)
        rows = 1 if self.tensor_cores else reading.rows
        cluster = self.target.measured.cluster_reduction if reading.point.slices > 1 else 0.0
        epilogue = prod(reading.accumulators) * times.reduced_accumulator + cluster
        return (
            times.block_overhead
            + waits * times.load_latency
            + steps * rows * times.row_step
            + epilogue
        )

    def device_seconds(self) -> float:
        """The seconds to read all of b from memory and to multiply it: these overlap, though not
        fully."""
        p = self.reading.p
        memory = size_bytes(p.b_stored) / (
            self.target.memory_bandwidth * self.times.read_efficiency
        )
        multiplied = self.fragment_seconds() if self.tensor_cores else self.cuda_core_seconds()
        return float((memory**3 + multiplied**3) ** (1 / 3))

    def fragment_seconds(self) -> float:
        """The seconds to pass operands to tensor cores; pairs along k may have to be made first."""
        p = self.reading.p
        moved = size_bytes(p.b) * (1 if p.b_along_k else 2)
        return moved / (self.times.fragment_bandwidth * self.target.cores)

    def cuda_core_seconds(self) -> float:
        """The seconds to multiply on CUDA cores, and to load from L1 caches."""
        p, reading = self.reading.p, self.reading
        products = (
            p.flops
            * reading.effort
            / (self.target.peak_flops(p.wide.name) * self.times.fma_efficiency)
        )
        own = reading.vectors * reading.nbytes
        rows = reading.rows * reading.depth * p.a.dtype.nbytes / own
        loaded = size_bytes(p.b_stored) * (
            1 + rows * (1.0 if p.b_along_k else self.times.row_conflict)
        )
        return products + loaded / (self.target.measured.shared_bandwidth * self.target.cores)

    def work(self) -> Work:
        """Blocks of a wave share the memory; the last wave takes a block's own time, at least."""
        reading, p, target = self.reading, self.reading.p, self.target
        threads, usable = reading.point.threads, target.cores_in_clusters(reading.point.slices)
        resident = target.resident_blocks(threads, self.shared_bytes, self.registers)
        places = max(1, resident) * usable
        whole, rest = divmod(self.blocks, places)
        block, each = self.block_seconds(), self.device_seconds() / self.blocks
        seconds = whole * max(places * each, block) + (max(rest * each, block) if rest else 0.0)
        seconds += block * self.times.ramp - target.measured.wave  # which is counted for each wave
        return Work(
            *p.nbytes, p.flops, (p.a.dtype if self.tensor_cores else p.wide).name,
            min(self.blocks, places), threads, self.tensor_cores,
            shared_bytes=self.shared_bytes, registers=self.registers,
            latencies=max(0.0, seconds) / target.measured.memory_latency,
        )  # fmt: skip
