"""A block's way along the keys: which rows it has, and what it does with each tile of keys."""

from __future__ import annotations

from typing import Any

from hidet.ir.expr import Value
from hidet.lang import (
    Global,
    Int,
    Registers,
    Shared,
    cdiv,
    f32,
    maximum,
    minimum,
    part,
    record,
    register_tensor,
    select,
    shared_tensor,
)
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.schedules.attention import Rows
from hidet.schedules.cuda.attention.plain import Operands
from hidet.schedules.cuda.attention.products import bring_rows, keep_rows
from hidet.schedules.cuda.attention.softmax import mask_scores, online_softmax
from hidet.schedules.cuda.attention.space import Blocks
from hidet.schedules.cuda.tiles.copy_pipeline import CopyPipeline
from hidet.target import ACCESS_BYTES, WARP
from hidet.types import Size


def own_row(point: Blocks) -> tuple[Value, Value]:
    """The warp's first row in the block, and which one it is of those that share its keys."""
    warp = threadIdx.x // WARP
    return warp // point.warps[1] * point.part[0], warp % point.warps[1]


@part
def place(rows: Rows, point: Blocks, layer: int, blocks: Any) -> tuple[Int, Int, Int, Int]:
    """The block's stack, its first row, its first tile of keys and how many it has. `layer`: blocks
    that the device begins at once, where the next ones join them; 0 where they wait for their end.
    """
    z, number = own_rows(rows, blockIdx.x, blocks, layer)
    # Rows that see most keys come first: short ones fill the gaps at the end.
    top = (blocks - 1 - number if rows.op.causal else number) * point.rows
    last = rows.length if rows.together else minimum(rows.length, top + point.rows)
    tiles = cdiv(minimum(rows.keys, last) if rows.op.causal else rows.keys, point.keys)
    each = cdiv(tiles, point.slices)
    first = blockIdx.z * each
    turns = maximum(0, minimum(each, tiles - first))
    return z, top, first, turns


def own_rows(rows: Rows, x: Value, blocks: Size, layer: int) -> tuple[Value, Value]:
    """The stack of block `x`, and the number of its rows there.

    Multiprocessors that get several blocks at once get one of each layer: those are sorted by what
    they have to do, and turned around in every second layer, so that all get as much.
    """
    total = blocks * rows.stacks
    if not layer:
        return x // blocks, x % blocks
    start = x // layer * layer
    turned = start + (minimum(total - start, layer) - 1 - x % layer)
    rank = select(x // layer % 2 > 0, turned, x)
    return rank % rows.stacks, rank // rows.stacks % blocks


@record
class KeyCopies:
    """Tiles of k and v from tile `first` of keys on, on their way to shared memory, and q's."""

    rows: Rows
    point: Blocks
    q: Global
    k: Global
    v: Global
    tile_q: Shared
    tiles_k: Shared
    tiles_v: Shared
    z: Any
    top: Any
    first: Any

    @part
    def begin(self) -> None:
        """Rows of q, after the first keys: where q computes something, they are under way."""
        bring_rows(self.q, self.rows.row_at, self.tile_q, 0, self.z, self.top, self.point.threads)

    @part
    def load(self, stage: Int, turn: Int) -> None:
        """A tile of keys and one of values."""
        at, threads = self.rows.key_at, self.point.threads
        start = (self.first + turn) * self.point.keys
        bring_rows(self.k, at, self.tiles_k, stage, self.z, start, threads)
        bring_rows(self.v, at, self.tiles_v, stage, self.z, start, threads)


@part
def walk(
    point: Blocks, of: Operands, z: Int, top: Int, first: Int, turns: Int,
    row_max: Registers, row_sum: Registers, sums: Registers,
) -> None:  # fmt: skip
    """`turns` tiles of keys from tile `first` on; what they give is added to the last three."""
    rows, op, dtype, stages = of.rows, of.rows.op, of.rows.op.q.dtype, point.stages
    (size, width), (height, keys) = point.padded(rows), point.part
    keeps_q, vector = point.keeps_q(rows), ACCESS_BYTES // dtype.nbytes
    score, weigh = point.multiplying(rows)
    row, sharer = own_row(point)
    # A vector between rows keeps fragments from bank conflicts.
    tile_q = shared_tensor(dtype, (1, point.rows, size + vector))
    tiles_k = shared_tensor(dtype, (stages, point.keys, size + vector))
    tiles_v = shared_tensor(dtype, (stages, point.keys, width + vector))
    kept = register_tensor(dtype, (height // 16, size // 16 if keeps_q else 1, 8))
    copies = KeyCopies(rows, point, of.q, of.k, of.v, tile_q, tiles_k, tiles_v, z, top, first)
    pipe = CopyPipeline(stages, copies)
    pipe.begin(turns)
    if keeps_q and turns > 0:
        pipe.wait()
        keep_rows(tile_q, kept, row)
    for turn in range(turns):
        pipe.step(turn + pipe.ahead, turns)
        scores = register_tensor(f32, (height // 16, keys // 8, 4), init=0.0)
        score(tile_q, kept, keeps_q, tiles_k, turn % stages, scores, row, sharer * keys)
        start = (first + turn) * point.keys
        seen = rows.keys
        if op.causal:
            seen = minimum(seen, 1 if rows.together else top + row + 1)
        edge = start + point.keys > seen
        mask_scores(rows, scores, of.mask, z, top + row, start + sharer * keys, edge)
        online_softmax(rows, scores, row_max, row_sum, sums)
        weigh(scores, tiles_v, turn % stages, sums, sharer * keys)
