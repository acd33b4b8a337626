"""How long a block of a product on tensor cores is under way: what its turns wait for.

The times are the target's (`hidet.target.measured`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from hidet.cost import ROUND_SECONDS
from hidet.schedules.contraction import Contraction, known
from hidet.target import Target
from hidet.target.measured import MmaTimes

if TYPE_CHECKING:
    from hidet.schedules.cuda.mma import Warps


@dataclass(frozen=True)
class Pace:
    """The time of a block at a point, on multiprocessors that each hold several."""

    p: Contraction
    point: Warps
    target: Target

    @property
    def times(self) -> MmaTimes:
        """What was measured of the target."""
        return self.target.measured.mma

    def rounds(self, blocks: int) -> float:
        """A block's time as waits for memory; more where clusters leave multiprocessors idle."""
        cores, usable = self.target.cores, self.target.cores_in_clusters(self.point.slices)
        resident = max(1, self.point.resident(self.p, self.target))
        together = min(resident, -(-blocks // usable))
        waves = -(-blocks // (resident * usable)) / -(-blocks // (resident * cores))
        return waves * self.seconds(together) / ROUND_SECONDS

    def seconds(self, together: int) -> float:
        """The time of one of so many blocks on a multiprocessor."""
        turns = -(-known(self.p.k) // (self.point.depth * self.point.slices))
        after = prod(self.point.block) * together * self.times.write
        meeting = self.times.meeting + after if self.point.slices > 1 else 0.0
        first = self.times.beginning + (ROUND_SECONDS if self.point.ahead else 0.0)
        return first + turns * self.turn(together) + after + meeting

    def turn(self, together: int) -> float:
        """A turn of the main loop: what takes longest of all that goes on beside each other, and
        what does not go on beside it."""
        point, (rows, columns), (high, broad) = self.point, self.point.block, self.point.part
        width = self.p.a.dtype.nbytes * point.depth
        rate = self.target.peak_flops(point.unit(self.p), True) / self.target.cores
        rate *= self.times.multiplied
        fragments = prod(point.warps) * (high + broad) * width
        return self.handing(together) + max(
            ROUND_SECONDS / point.ahead if point.ahead else 0.0,
            together * (rows + columns) * width / self.times.feed,
            together * fragments / self.times.shared_feed + self.times.turn,
            together * 2.0 * rows * columns * point.depth / rate,
            self.times.warp + 2.0 * high * broad * point.depth / (rate / 4),
        )

    def handing(self, together: int) -> float:
        """What a turn waits for tiles that come through registers."""
        point = self.point
        if point.ahead:
            return 0.0
        scattered = point.block[0 if self.p.b_along_k else 1] * point.depth * self.p.scattered
        spread: float = point.threads ** (2 / 3) / together**0.25
        gathering = scattered * self.times.gather / spread
        return self.times.handed + gathering
