"""Which rows of q and which keys a block of attention has, and in what order blocks take them."""

from __future__ import annotations

from typing import Any

from hidet.ir.expr import Value
from hidet.lang import Int, cdiv, maximum, minimum, part, record, select
from hidet.lang.cuda import blockIdx
from hidet.schedules.attention import Rows
from hidet.types import Size


@record
class QueryTile:
    """Rows of q from row `top` of stack `z` on, and so many tiles of keys from tile `first` on."""

    z: Int
    top: Int
    first: Any
    iterations: Int


@part
def key_tiles(rows: Rows, top: Int, extent: int, keys: int) -> Int:
    """How many tiles of `keys` keys the `extent` rows from `top` on see."""
    last = rows.length if rows.together else minimum(rows.length, top + extent)
    return cdiv(minimum(rows.keys, last) if rows.op.causal else rows.keys, keys)


@part
def split_tile(
    rows: Rows, block: tuple[int, int], slices: int, wave: int, blocks: Any
) -> QueryTile:
    """The tile of a block of so many rows by keys, where `slices` blocks divide the keys."""
    extent, keys = block
    z, number = block_rows(rows, blockIdx.x, blocks, wave)
    # Rows that see most keys come first: short ones fill the gaps at the end.
    top = (blocks - 1 - number if rows.op.causal else number) * extent
    tiles = key_tiles(rows, top, extent, keys)
    each = cdiv(tiles, slices)
    first = blockIdx.z * each
    return QueryTile(z, top, first, maximum(0, minimum(each, tiles - first)))


def block_rows(rows: Rows, x: Value, blocks: Size, wave: int) -> tuple[Value, Value]:
    """The stack of block `x`, and the number of its rows there. `wave`: blocks that begin at once,
    one on each multiprocessor, where the next ones join them; 0 where these wait for their end.

    Multiprocessors that hold several blocks at once get one of each wave: blocks are sorted by
    their work, in every second wave the other way round, so that each multiprocessor gets as much.
    """
    total = blocks * rows.stacks
    if not wave:
        return x // blocks, x % blocks
    start = x // wave * wave
    reversed_ = start + (minimum(total - start, wave) - 1 - x % wave)
    rank = select(x // wave % 2 > 0, reversed_, x)
    return rank % rows.stacks, rank // rows.stacks % blocks


@part
def longest_first(rows: Rows, block: tuple[int, int], room: int, blocks: Any) -> QueryTile:
    """The tile of a block of so many rows by keys, with all keys.

    Causal blocks begin with those that have most to do. Not of all stacks at once, whose keys would
    not find room in the L2 cache, but of as many as have `room` blocks together.
    """
    extent, keys = block
    z, number = blockIdx.x // blocks, blockIdx.x % blocks
    if rows.op.causal:
        sections = cdiv(rows.stacks, cdiv(room, blocks))
        section = cdiv(rows.stacks, sections)
        first = blockIdx.x // (section * blocks) * section
        together = minimum(section, rows.stacks - first)
        within = blockIdx.x - first * blocks
        z, number = first + within % together, blocks - 1 - within // together
    top = number * extent
    return QueryTile(z, top, 0, key_tiles(rows, top, extent, keys))
