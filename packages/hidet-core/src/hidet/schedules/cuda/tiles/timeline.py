"""The time of a kernel of tiles, from what its blocks do and the constants of the device.

    kernel = launch + startup + waves x block
    block = fill + iterations x iteration + epilogue
    iteration = serial + max(latency, L2 bytes, shared bytes + overhead, operations, one warp)

Blocks on one multiprocessor share its bandwidths and rates, while their latencies overlap. Points
of a space state the counts (`Iteration`); the constants are the target's (`hidet.target.measured`).
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet.target import Target
from hidet.target.measured import Measured

SCHEDULERS = 4
"""Parts of a multiprocessor, each of which issues the instructions of its own warps."""


@dataclass(frozen=True)
class Iteration:
    """What a block does in one iteration of its main loop."""

    operations: float
    """A multiply-add counts as two."""
    rate: float
    """Operations per second that a multiprocessor sustains."""
    l2_bytes: float
    """Bytes that arrive from the L2 cache."""
    shared_bytes: float
    """Bytes through shared memory, as stores and as loads of all warps."""
    warps: int
    """Warps that share the operations."""
    latency: float
    """The least seconds, in which the next tiles arrive."""
    serial: float
    """Seconds that overlap with nothing."""


@dataclass(frozen=True)
class Timeline:
    """A kernel: its blocks, and what each of them does."""

    target: Target
    iteration: Iteration
    iterations: int
    elements: int
    """Elements that a block writes; those of split-K partials for a second kernel count twice."""
    blocks: int
    resident: int
    """Blocks that a multiprocessor has room for."""
    cluster: int
    """Blocks of a cluster, which reduce their partials; 1 without clusters."""

    @property
    def times(self) -> Measured:
        """The measured constants of the target."""
        return self.target.measured

    @property
    def concurrent(self) -> int:
        """Blocks that do share a multiprocessor."""
        return sharing(self.target, self.blocks, self.resident, self.cluster)

    @property
    def step(self) -> float:
        """Seconds of an iteration."""
        each, times, concurrent = self.iteration, self.times, self.concurrent
        warp = each.operations / each.warps / (each.rate / SCHEDULERS)
        return each.serial + max(
            each.latency,
            concurrent * each.l2_bytes / times.l2_bandwidth,
            concurrent * each.shared_bytes / times.shared_bandwidth + times.iteration_overhead,
            concurrent * each.operations / each.rate,
            times.warp_latency + warp,
        )

    @property
    def epilogue(self) -> float:
        """Seconds from the last operand to the end of a block."""
        written = self.elements * self.concurrent * self.times.epilogue_element
        return written + (self.times.cluster_reduction if self.cluster > 1 else 0.0)

    @property
    def latencies(self) -> float:
        """Seconds of all waves until the last operands have arrived, in memory latencies of as many
        waves as `hidet.cost` counts, which knows no clusters."""
        usable = self.target.cores_in_clusters(self.cluster)
        waves = -(-self.blocks // (self.resident * usable))
        counted = -(-self.blocks // (self.resident * self.target.cores))
        # Where tiles come through registers each iteration waits for its own, the first one too.
        fill = self.times.memory_latency if self.iteration.latency else 0.0
        block = fill + self.iterations * self.step + self.epilogue
        seconds = self.times.startup + waves * block - self.epilogue
        return seconds / counted / self.times.memory_latency


def sharing(target: Target, blocks: int, resident: int, cluster: int) -> int:
    """How many of these blocks share a multiprocessor that has room for `resident` of them."""
    return min(resident, -(-blocks // target.cores_in_clusters(cluster)))
