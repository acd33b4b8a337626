"""The latency model of a block of a matmul on tensor cores.

The times are the target's (`hidet.target.measured`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from hidet.cost import LATENCY_SECONDS
from hidet.schedules.contraction import Contraction
from hidet.schedules.typical import estimated
from hidet.target import Target
from hidet.target.measured import MmaTimes

if TYPE_CHECKING:
    from hidet.schedules.cuda.tiles.mma import Warps

VECTOR = 8
"""Elements of a 16-byte access."""


@dataclass(frozen=True)
class Latency:
    """The time of `blocks` blocks at a point, of which each multiprocessor holds several."""

    p: Contraction
    point: Warps
    target: Target
    blocks: int

    @property
    def times(self) -> MmaTimes:
        """The measured constants of the target."""
        return self.target.measured.mma

    @property
    def latencies(self) -> float:
        """The time until the last operands have arrived, in memory latencies; more where clusters
        leave multiprocessors idle."""
        waves = -(-self.blocks // (self.resident * self.usable))
        counted = -(-self.blocks // (self.resident * self.target.cores))
        taken = self.times.startup + waves * self.of_block - self.epilogue
        return taken / counted / LATENCY_SECONDS

    @cached_property
    def epilogue(self) -> float:
        """The seconds of the epilogue of the last blocks, with the reduction over a cluster."""
        written = prod(self.point.block) * self.concurrent * self.times.epilogue_element
        return written + (self.times.cluster_reduction + written if self.point.slices > 1 else 0.0)

    @cached_property
    def resident(self) -> int:
        """Blocks that one multiprocessor holds."""
        return max(1, self.point.resident(self.p, self.target))

    @cached_property
    def usable(self) -> int:
        """Multiprocessors that clusters do not leave idle."""
        return self.target.cores_in_clusters(self.point.slices)

    @cached_property
    def concurrent(self) -> int:
        """Blocks that share a multiprocessor."""
        return min(self.resident, -(-self.blocks // self.usable))

    @property
    def of_block(self) -> float:
        """The seconds of one block: fill, iterations and epilogue."""
        iterations = -(-estimated(self.p.k) // (self.point.depth * self.point.slices))
        first = LATENCY_SECONDS if self.point.ahead else 0.0
        return first + iterations * self.iteration + self.epilogue

    @property
    def iteration(self) -> float:
        """The seconds of an iteration: the longest of what overlaps, and what does not overlap."""
        point, (rows, columns) = self.point, self.point.block
        warp_rows, warp_columns = point.warp_tile
        concurrent = self.concurrent
        width = self.p.a.dtype.nbytes * point.depth
        rate = self.target.peak_flops(point.unit(self.p), True) / self.target.cores
        rate *= self.times.efficiency
        fragments = prod(point.warps) * (warp_rows + warp_columns) * width
        return self.staging + max(
            LATENCY_SECONDS / point.ahead if point.ahead else 0.0,
            concurrent * (rows + columns) * width / self.times.l2_bandwidth,
            concurrent * fragments / self.times.fragment_bandwidth + self.times.iteration_overhead,
            concurrent * 2.0 * rows * columns * point.depth / rate,
            self.times.warp_latency + 2.0 * warp_rows * warp_columns * point.depth / (rate / 4),
        )

    @property
    def staging(self) -> float:
        """The seconds that an iteration waits for tiles staged through registers, or gathered."""
        spread: float = self.point.threads ** (2 / 3) / self.concurrent**0.25
        gathered = self.gathered * self.times.gathered_element / spread
        return gathered if self.point.ahead else self.times.register_staging + gathered

    @property
    def gathered(self) -> float:
        """Elements of an iteration's tiles that are gathered one by one; narrow accesses count as a
        part of one."""
        p, (rows, columns) = self.p, self.point.block
        pieces = rows * narrow(p.a_contiguity) + columns * narrow(p.b_contiguity)
        scattered = (rows if p.b_along_k else columns) * p.scattered
        return self.point.depth * (scattered or self.times.narrow_access * pieces)


def narrow(contiguity: int) -> float:
    """For each element: how many more accesses there are than with the widest ones."""
    return 1 / min(contiguity, VECTOR) - 1 / VECTOR
