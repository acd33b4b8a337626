"""Which lane holds which element of a tile, in which of its registers, as tables of numbers.

Every table has the row and the column of value `i` of lane `t`. PTX ISA, "Matrix Fragments for
mma.m16n8k16 / m16n8k8".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hidet.intrinsics.base import WARP, Array

GROUP = np.arange(WARP)[:, None] // 4
PLACE = np.arange(WARP)[:, None] % 4


@dataclass(frozen=True, eq=False)
class Table:
    """A tile of `shape`: `order[row, column]` is lane · values + value."""

    shape: tuple[int, int]
    values: int
    order: Array

    def tile(self, held: Array) -> Array:
        """The tiles of warps whose lanes hold `held` (warps, 32, values)."""
        flat = held.reshape(len(held), -1)
        return flat[:, self.order].reshape(len(held), *self.shape)

    def held(self, tile: Array) -> Array:
        """What the lanes hold of tiles (warps, rows, columns)."""
        flat = np.zeros((len(tile), WARP * self.values), tile.dtype)
        flat[:, self.order] = tile.reshape(len(tile), -1)
        return flat.reshape(len(tile), WARP, self.values)


def table(shape: tuple[int, int], row: Array, column: Array) -> Table:
    """The table of a fragment from its rows and columns by lane and value."""
    rows, columns = np.broadcast_arrays(row, column)
    place = (rows * shape[1] + columns).reshape(-1)
    order = np.empty(shape[0] * shape[1], np.int64)
    order[place] = np.arange(place.size)
    return Table(shape, rows.shape[1], order)


def operand_a(depth: int, bits: int) -> Table:
    """The 16 × depth operand A."""
    if bits == 32:
        value = np.arange(4)
        return table((16, 8), GROUP + 8 * (value % 2), PLACE + 4 * (value // 2))
    value = np.arange(depth // 2)
    row = GROUP + 8 * (value // 2 % 2)
    return table((16, depth), row, 2 * PLACE + value % 2 + 8 * (value // 4))


def operand_b(depth: int, bits: int) -> Table:
    """The depth × 8 operand B."""
    if bits == 32:
        return table((8, 8), PLACE + 4 * np.arange(2), GROUP)
    value = np.arange(depth // 4)
    return table((depth, 8), 2 * PLACE + value % 2 + 8 * (value // 2), GROUP)


def accumulator() -> Table:
    """The 16 × 8 accumulator."""
    value = np.arange(4)
    return table((16, 8), GROUP + 8 * (value // 2), 2 * PLACE + value % 2)


def eight_by_eight() -> Table:
    """One 8 × 8 matrix of ldmatrix and stmatrix; lane t holds two neighbours of row t / 4."""
    return table((8, 8), GROUP, 2 * PLACE + np.arange(2))
