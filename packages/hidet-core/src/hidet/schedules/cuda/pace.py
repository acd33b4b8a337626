"""How long a block of a product on tensor cores is under way: what its turns wait for.

The constants are fitted to 860 points of 18 products and convolutions measured on an H200.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from hidet.cost import ROUND_SECONDS
from hidet.schedules.contraction import Contraction, known
from hidet.target import Target

if TYPE_CHECKING:
    from hidet.schedules.cuda.mma import Warps

FEED = 46e9
"""Bytes that one multiprocessor gets from the second-level cache in a second."""
SHARED_FEED = 131e9
"""Bytes that its warps read as fragments from shared memory in a second, beside the rest."""
MULTIPLIED = 0.29
"""The part of the published rate that `mma.sync` reaches with fragments from shared memory."""
TURN_SECONDS = 0.09e-6
"""What a turn costs a multiprocessor beside reading fragments: barriers, addresses of copies."""
WARP_SECONDS = 0.13e-6
"""The same of one warp beside multiplying: the latencies of one step after the other."""
WRITE_SECONDS = 0.5e-10
"""Writing one element of a tile, or leaving it for the others of the cluster."""
MEETING_SECONDS = 0.1e-6
"""The barriers of a cluster."""
BEGINNING_SECONDS = 0.3e-6
"""What a kernel takes beside its launch and the first wait."""
HANDED_SECONDS = 0.29e-6
"""What a turn waits for tiles that come through registers, one turn ahead."""
GATHER_SECONDS = 2e-8
"""Finding one element by itself, for one thread; more threads overlap, though not all at once."""
CLUSTERS = {2: 66, 3: 42, 4: 32, 6: 16, 8: 15}
"""Clusters of so many blocks that 132 multiprocessors hold, one block each: those of a cluster are
of one group of 16 or 18 multiprocessors."""


@dataclass(frozen=True)
class Pace:
    """The time of a block at a point, on multiprocessors that each hold several."""

    p: Contraction
    point: Warps
    target: Target

    def rounds(self, blocks: int) -> float:
        """A block's time as waits for memory; more where clusters leave multiprocessors idle."""
        cores = self.target.cores
        usable = CLUSTERS.get(self.point.slices, 0) * self.point.slices * cores // 132 or cores
        resident = max(1, self.resident())
        together = min(resident, -(-blocks // usable))
        waves = -(-blocks // (resident * usable)) / -(-blocks // (resident * cores))
        return waves * self.seconds(together) / ROUND_SECONDS

    def resident(self) -> int:
        """Blocks that one multiprocessor holds."""
        p, point = self.p, self.point
        shared = point.shared_bytes(p, self.target)
        return self.target.resident_blocks(point.threads, shared, point.registers(p))

    def seconds(self, together: int) -> float:
        """The time of one of so many blocks on a multiprocessor."""
        turns = -(-known(self.p.k) // (self.point.depth * self.point.slices))
        after = prod(self.point.block) * together * WRITE_SECONDS
        meeting = MEETING_SECONDS + after if self.point.slices > 1 else 0.0
        first = BEGINNING_SECONDS + (ROUND_SECONDS if self.point.ahead else 0.0)
        return first + turns * self.turn(together) + after + meeting

    def turn(self, together: int) -> float:
        """A turn of the main loop: what takes longest of all that goes on beside each other, and
        what does not go on beside it."""
        point, (rows, columns), (high, broad) = self.point, self.point.block, self.point.part
        width = self.p.a.dtype.nbytes * point.depth
        rate = self.target.peak_flops(point.unit(self.p), True) / self.target.cores * MULTIPLIED
        fragments = prod(point.warps) * (high + broad) * width
        return self.handing(together) + max(
            ROUND_SECONDS / point.ahead if point.ahead else 0.0,
            together * (rows + columns) * width / FEED,
            together * fragments / SHARED_FEED + TURN_SECONDS,
            together * 2.0 * rows * columns * point.depth / rate,
            WARP_SECONDS + 2.0 * high * broad * point.depth / (rate / 4),
        )

    def handing(self, together: int) -> float:
        """What a turn waits for tiles that come through registers."""
        point = self.point
        if point.ahead:
            return 0.0
        scattered = point.block[0 if self.p.b_along_k else 1] * point.depth * self.p.scattered
        spread: float = point.threads ** (2 / 3) / together**0.25
        gathering = scattered * GATHER_SECONDS / spread
        return HANDED_SECONDS + gathering
