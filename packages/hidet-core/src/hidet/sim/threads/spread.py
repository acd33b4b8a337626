"""Register tensors spread over the threads of a block by a task mapping: who holds what, where."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np

from hidet.sim.faults import OutOfBounds
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Array, Mask, Value, spread
from hidet.types import TensorType


@dataclass(frozen=True, eq=False)
class Owners:
    """For each worker and element: the number of the register, or -1 where it has none."""

    slots: Array
    shape: tuple[int, ...]
    each: int

    def slot(self, simt: SimtGroup, index: list[Value], mask: Mask) -> Value:
        """The register that holds an element; it must be one of the thread's own."""
        flat: Value = np.int64(0)
        for i, extent in zip(index, self.shape, strict=True):
            flat = flat * extent + i
        flat = np.where(mask, flat, 0)
        workers = simt.thread % len(self.slots)
        found = self.slots[workers, np.clip(flat, 0, self.slots.shape[1] - 1)]
        foreign = spread(found < 0, simt.count) & mask
        if foreign.any():
            row = int(np.argmax(foreign))
            at = ", ".join(str(int(i)) for i in np.unravel_index(int(flat[row]), self.shape))
            simt.fault(OutOfBounds, f"element ({at}) lies in another thread's registers", row)
        return found


def owner_table(of: TensorType) -> Owners | None:
    """The table of a spread register tensor; None for any other type."""
    mapping = of.layout
    if mapping is None or not hasattr(mapping, "workers"):
        return None
    return enumerated(mapping)


@cache
def enumerated(mapping: Any) -> Owners:
    """The table of a mapping, by asking it for every worker's tasks."""
    shape = tuple(int(n) for n in mapping.shape)
    slots = np.full((mapping.workers, prod(shape)), -1, np.int64)
    each = 0
    for worker in range(mapping.workers):
        tasks = list(mapping.tasks(worker))
        each = max(each, len(tasks))
        for slot, task in reversed(list(enumerate(tasks))):
            slots[worker, np.ravel_multi_index(tuple(int(i) for i in task), shape)] = slot
    return Owners(slots, shape, each)
