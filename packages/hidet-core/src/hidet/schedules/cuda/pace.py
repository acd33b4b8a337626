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

VECTOR = 8
"""Elements of a 16-byte access."""


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
        """The time until the last operands have come, as waits for memory; more where clusters
        leave multiprocessors idle."""
        resident, usable = max(1, self.resident()), self.usable
        waves = -(-blocks // (resident * usable))
        counted = -(-blocks // (resident * self.target.cores))
        taken = self.times.beginning + waves * self.seconds(self.together(blocks))
        return (taken - self.after(blocks)) / counted / ROUND_SECONDS

    def after(self, blocks: int) -> float:
        """The seconds in which the last blocks add up and write what they found."""
        written = prod(self.point.block) * self.together(blocks) * self.times.write
        return written + (self.times.meeting + written if self.point.slices > 1 else 0.0)

    def together(self, blocks: int) -> int:
        """Blocks that share a multiprocessor, of so many."""
        return min(max(1, self.resident()), -(-blocks // self.usable))

    @property
    def usable(self) -> int:
        """Multiprocessors that clusters do not leave idle."""
        return self.target.cores_in_clusters(self.point.slices)

    def resident(self) -> int:
        """Blocks that one multiprocessor holds."""
        p, point = self.p, self.point
        shared = point.shared_bytes(p, self.target)
        return self.target.resident_blocks(point.threads, shared, point.registers(p))

    def seconds(self, together: int) -> float:
        """The time of one of so many blocks on a multiprocessor."""
        turns = -(-known(self.p.k) // (self.point.depth * self.point.slices))
        first = ROUND_SECONDS if self.point.ahead else 0.0
        return first + turns * self.turn(together) + self.after(together * self.usable)

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
        """What a turn waits for tiles that come through registers, or in small pieces."""
        spread: float = self.point.threads ** (2 / 3) / together**0.25
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
