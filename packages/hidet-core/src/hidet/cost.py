"""A roofline with waves, ramps and launches, which ranks candidates.

The model ignores cache reuse between kernels and bank conflicts. It prunes a search space before
measuring, and compares fusions; it does not predict times.
"""

from dataclasses import dataclass
from math import inf

from hidet.errors import BadArgument
from hidet.target import Target

PARALLEL_REGION_SECONDS = 3e-6
"""Starting and joining a CPU thread team; an estimate."""
REACHED_BANDWIDTH = 0.88
"""The part of the published bandwidth that a large copy reaches: 4.24 of 4.8 TB/s on an H200."""
REACHED_RATE = 0.7
"""The part of the published rate that a large matmul reaches: 674 of 989 TFLOP/s on an H200."""
CACHE_GAIN = 2.0
"""How much faster data comes from a GPU's second-level cache than from memory; an estimate."""
SATURATING_THREADS = 256
"""Resident threads with which one multiprocessor keeps its arithmetic units busy; an estimate."""


@dataclass(frozen=True)
class Work:
    """The bytes and operations of one operator, and the blocks that share them."""

    bytes_read: float
    bytes_written: float
    flops: float
    """Operations; a multiply-add counts as two."""
    dtype: str = "float32"
    """The full name of the type that is computed in."""
    blocks: int = 1
    block_threads: int = 256
    tensor_core: bool = False
    launches: int = 1
    shared_bytes: int = 0
    """Per block."""
    registers: int = 0
    """Per thread; 0 where unknown."""
    latencies: float = 0
    """Memory latencies of a block that nothing hides, one after the other."""
    epilogue: float = 0.0
    """Seconds after the last operand has arrived, in which no memory is read any more."""

    def __post_init__(self) -> None:
        amounts = (self.bytes_read, self.bytes_written, self.flops)
        counts = (self.blocks, self.block_threads, self.launches)
        try:
            is_possible = min(amounts) >= 0 and min(counts) >= 1
        except TypeError:  # dynamic sizes have no order
            raise BadArgument(
                f"work has numbers, not dynamic sizes: {self}",
                help="count with `hidet.schedules.typical.estimated(size)` for each size",
            ) from None
        if not is_possible:
            raise BadArgument(f"work has amounts >= 0 and counts >= 1, not {self}")


def seconds(work: Work, target: Target) -> float:
    """The estimated time of `work` on `target`; infinite where not even one block fits.

    launches + waves + the longest of memory, arithmetic and latencies + epilogue. Never shorter for
    more bytes, more operations or more launches, nor on a target with less bandwidth or a lower
    rate.
    """
    resident = target.resident_blocks(work.block_threads, work.shared_bytes, work.registers)
    if resident == 0:
        return inf
    launch = target.measured.launch if target.kind == "cuda" else PARALLEL_REGION_SECONDS
    return (
        work.launches * launch
        + _waves(work, target, resident)
        + max(
            _memory(work, target),
            _arithmetic(work, target, resident),
            _latencies(work, target, resident),
        )
        + work.epilogue
    )


def _waves(work: Work, target: Target, resident: int) -> float:
    """Each wave, the blocks that the device holds at once, ramps up and down; a CPU has no ramp."""
    if target.kind == "cpu":
        return 0.0
    return -(-work.blocks // (resident * target.cores)) * target.measured.wave


def _latencies(work: Work, target: Target, resident: int) -> float:
    """Blocks that a core holds at once wait at the same time; a CPU prefetches its loads."""
    if target.kind == "cpu":
        return 0.0
    waves = -(-work.blocks // (resident * target.cores))
    return waves * work.latencies * target.measured.memory_latency


def _memory(work: Work, target: Target) -> float:
    """Half of a GPU's multiprocessors, or four CPU cores, saturate the memory."""
    enough = target.cores / 2 if target.kind == "cuda" else min(target.cores, 4)
    share = min(1.0, min(work.blocks, target.cores) / enough)
    moved = work.bytes_read + work.bytes_written
    return moved / (target.memory_bandwidth * REACHED_BANDWIDTH * share)


def _arithmetic(work: Work, target: Target, resident: int) -> float:
    """The core with the most blocks finishes last (the tail), and few threads hide no latency."""
    if work.flops == 0:
        return 0.0
    most = -(-work.blocks // target.cores)
    balance = work.blocks / (most * target.cores)
    busy = 1.0
    if target.kind == "cuda" and not work.tensor_core:
        busy = min(1.0, min(most, resident) * work.block_threads / SATURATING_THREADS)
    rate = target.peak_flops(work.dtype, work.tensor_core) * REACHED_RATE
    return work.flops / (rate * balance * busy)
