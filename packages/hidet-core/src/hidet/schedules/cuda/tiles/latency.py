"""The latency model of a block of a matmul on tensor cores: what its k-iterations wait for.

The times are the target's (`hidet.target.measured`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from hidet.cost import ROUND_SECONDS
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
    """The time of so many blocks at a point, of which multiprocessors each hold several."""

    p: Contraction
    point: Warps
    target: Target
    blocks: int

    @property
    def times(self) -> MmaTimes:
        """What was measured of the target."""
        return self.target.measured.mma

    @property
    def rounds(self) -> float:
        """The time until the last operands have come, as waits for memory; more where clusters
        leave multiprocessors idle."""
        waves = -(-self.blocks // (self.resident * self.usable))
        counted = -(-self.blocks // (self.resident * self.target.cores))
        taken = self.times.beginning + waves * self.of_block - self.after
        return taken / counted / ROUND_SECONDS

    @cached_property
    def after(self) -> float:
        """The seconds in which the last blocks add up and write what they found."""
        written = prod(self.point.block) * self.together * self.times.write
        return written + (self.times.meeting + written if self.point.slices > 1 else 0.0)

    @cached_property
    def resident(self) -> int:
        """Blocks that one multiprocessor holds."""
        return max(1, self.point.resident(self.p, self.target))

    @cached_property
    def usable(self) -> int:
        """Multiprocessors that clusters do not leave idle."""
        return self.target.cores_in_clusters(self.point.slices)

    @cached_property
    def together(self) -> int:
        """Blocks that share a multiprocessor."""
        return min(self.resident, -(-self.blocks // self.usable))

    @property
    def of_block(self) -> float:
        """The seconds of one of them."""
        turns = -(-estimated(self.p.k) // (self.point.depth * self.point.slices))
        first = ROUND_SECONDS if self.point.ahead else 0.0
        return first + turns * self.turn + self.after

    @property
    def turn(self) -> float:
        """A turn of the main loop: what takes longest of all that goes on beside each other, and
        what does not go on beside it."""
        point, (rows, columns), (high, broad) = self.point, self.point.block, self.point.warp_tile
        together = self.together
        width = self.p.a.dtype.nbytes * point.depth
        rate = self.target.peak_flops(point.unit(self.p), True) / self.target.cores
        rate *= self.times.multiplied
        fragments = prod(point.warps) * (high + broad) * width
        return self.handing + max(
            ROUND_SECONDS / point.ahead if point.ahead else 0.0,
            together * (rows + columns) * width / self.times.feed,
            together * fragments / self.times.shared_feed + self.times.turn,
            together * 2.0 * rows * columns * point.depth / rate,
            self.times.warp + 2.0 * high * broad * point.depth / (rate / 4),
        )

    @property
    def handing(self) -> float:
        """What a turn waits for tiles that come through registers, or in small pieces."""
        spread: float = self.point.threads ** (2 / 3) / self.together**0.25
        found = self.found * self.times.gather / spread
        return found if self.point.ahead else self.times.handed + found

    @property
    def found(self) -> float:
        """Elements of a turn's tiles that are found by themselves; pieces of rows take a part of
        what these take."""
        p, (rows, columns) = self.p, self.point.block
        pieces = rows * beside(p.a_together) + columns * beside(p.b_together)
        scattered = (rows if p.b_along_k else columns) * p.scattered
        return self.point.depth * (scattered or self.times.piece * pieces)


def beside(together: int) -> float:
    """For each element: how many pieces there are beside those of whole accesses."""
    return 1 / min(together, VECTOR) - 1 / VECTOR
