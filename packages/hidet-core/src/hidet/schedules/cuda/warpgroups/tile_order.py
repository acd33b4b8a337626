"""In which order the blocks of a persistent kernel take the tiles of a result."""

from __future__ import annotations

from hidet.lang import Int, maximum, minimum, part, record
from hidet.types import Size

GROUP = 8
"""Rows of tiles that blocks go down before they go on to the next column."""


@record
class Tile:
    """A tile of the result: its product of a batch, its first row and column."""

    z: Int
    top: Int
    left: Int


@record
class Order:
    """Tiles by number, down a few rows before the next column: those under way at once share rows
    and columns in the second cache. That no tile is beyond the last row and column is said, where
    it cannot be seen: whole tiles are written without conditions."""

    block: tuple[int, int]
    down: Size
    across: Size

    @part
    def tile(self, number: Int) -> Tile:
        """The tile of a number."""
        down, across = self.down, self.across
        inside = number % (down * across)
        first = inside // (GROUP * across) * GROUP
        height = maximum(minimum(GROUP, down - first), 1)
        within = inside % (GROUP * across)
        row = minimum(first + within % height, down - 1)
        column = minimum(within // height, across - 1)
        rows, columns = self.block
        return Tile(number // (down * across), row * rows, column * columns)
