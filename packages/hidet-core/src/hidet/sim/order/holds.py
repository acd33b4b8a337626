"""Registers that an unfinished wgmma holds: who may touch them, and what must come between."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hidet.sim.values import Array

NEVER = -1


@dataclass
class FenceCount:
    """A count of fences, by which accesses are earlier or later than one."""

    now: int = 0


@dataclass(eq=False)
class Holds:
    """For each granule of a register buffer: unfinished products, and who used it last."""

    granules: int
    fences: FenceCount
    sums: Array = field(init=False)
    """How many unfinished products have it as accumulator."""
    parts: Array = field(init=False)
    """How many unfinished products read it as a fragment of A."""
    touched: Array = field(init=False)
    """When ordinary code last read or wrote it."""
    used: Array = field(init=False)
    """When a product last used it as accumulator."""
    form: Array = field(init=False)
    """The form of that product, as a number."""
    site: Array = field(init=False)
    """The last product that holds it."""

    def __post_init__(self) -> None:
        self.sums = np.zeros(self.granules, np.int32)
        self.parts = np.zeros(self.granules, np.int32)
        self.touched = np.full(self.granules, NEVER, np.int64)
        self.used = np.full(self.granules, NEVER, np.int64)
        self.form = np.zeros(self.granules, np.int32)
        self.site = np.zeros(self.granules, np.int32)

    @property
    def busy(self) -> bool:
        """Whether any product holds any of it."""
        return bool(self.sums.any() or self.parts.any())

    def touch(self, granules: Array) -> int | None:
        """Note an ordinary access; the first entry that a product holds."""
        self.touched[granules] = self.fences.now
        held = (self.sums[granules] > 0) | (self.parts[granules] > 0)
        return int(np.argmax(held)) if held.any() else None
