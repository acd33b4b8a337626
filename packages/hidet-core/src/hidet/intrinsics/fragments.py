"""Which lane holds which element of a tile, in which of its registers, as tables of numbers.

Every table has the row and the column of value `i` of lane `t`. PTX ISA, "Matrix Fragments for
mma.m8n8k4 ... m16n8k32" and "Register Fragments for wgmma.mma_async"; the formulas here are those
of all of its shapes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hidet.intrinsics.context import Array
from hidet.target import WARP

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


def operand_a(depth: int, bits: int, rows: int = 16) -> Table:
    """The `rows` × depth operand A. A register holds neighbours in k, 32 bits of them at most.

    Registers go first through the two halves of the rows, then through k.
    """
    packed, halves = per_register(bits), rows // 8
    value = np.arange(rows * depth // WARP)
    register = value // packed
    column = packed * PLACE + value % packed + 4 * packed * (register // halves)
    return table((rows, depth), GROUP + 8 * (register % halves), column)


def operand_b(depth: int, bits: int) -> Table:
    """The depth × 8 operand B. A register holds neighbours in k, 32 bits of them at most."""
    packed = per_register(bits)
    value = np.arange(depth * 8 // WARP)
    row = packed * PLACE + value % packed + 4 * packed * (value // packed)
    return table((depth, 8), row, GROUP)


def accumulator(rows: int = 16, columns: int = 8) -> Table:
    """The accumulator: pairs of neighbours, first through the halves of 16 rows, then columns.

    With 8 columns that of `mma.sync`; with more, the 16 rows that one warp has of `wgmma`'s.
    """
    value = np.arange(rows * columns // WARP)
    pair, halves = value // 2, rows // 8
    column = 2 * PLACE + value % 2 + 8 * (pair // halves)
    return table((rows, columns), GROUP + 8 * (pair % halves), column)


def eight_by_eight(bits: int = 16) -> Table:
    """One matrix of ldmatrix and stmatrix, 8 rows of 16 bytes; lane t holds a word of row t / 4."""
    packed = per_register(bits)
    return table((8, 4 * packed), GROUP, packed * PLACE + np.arange(packed))


def per_register(bits: int) -> int:
    """How many elements share a 32-bit register; a 64-bit one has a pair of registers."""
    return max(1, 32 // bits)
