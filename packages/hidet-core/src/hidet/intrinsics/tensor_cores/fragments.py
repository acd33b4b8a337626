"""Fragments of `hidet.mapping.fragments` as tables of numbers, for the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np

from hidet.intrinsics.context import Array
from hidet.mapping import TaskMapping


@dataclass(frozen=True, eq=False)
class Table:
    """A tile of `shape`: `order`, by its elements row by row, is worker · values + value."""

    shape: tuple[int, ...]
    values: int
    order: Array

    def tile(self, held: Array) -> Array:
        """The tiles of groups of workers that hold `held` (groups, workers, values)."""
        flat = held.reshape(len(held), -1)
        return flat[:, self.order].reshape(len(held), *self.shape)

    def held(self, tile: Array) -> Array:
        """What the workers hold of tiles (groups, *shape)."""
        flat = np.zeros((len(tile), self.order.size), tile.dtype)
        flat[:, self.order] = tile.reshape(len(tile), -1)
        return flat.reshape(len(tile), -1, self.values)


@cache
def table(fragment: TaskMapping) -> Table:
    """A fragment of which every element is held once, by enumeration."""
    tasks = [task for worker in range(fragment.workers) for task in fragment.tasks(worker)]
    place = np.ravel_multi_index(tuple(np.array(tasks).T), fragment.shape)
    order = np.empty(prod(fragment.shape), np.int64)
    order[place] = np.arange(order.size)
    return Table(fragment.shape, fragment.tasks_per_worker, order)
