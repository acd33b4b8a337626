"""The main loop of attention: tiles of keys are copied ahead, multiplied, and summed up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hidet.ir.expr import Value
from hidet.lang import (
    Global,
    Int,
    Shared,
    address,
    f32,
    part,
    record,
    register_tensor,
    shared_tensor,
    unroll,
    vectorize,
)
from hidet.lang.cuda import store_async, threadIdx
from hidet.lang.memory import get
from hidet.schedules.contraction import Index
from hidet.schedules.cuda.attention.blocks import Blocks
from hidet.schedules.cuda.attention.non_finite import Operands
from hidet.schedules.cuda.attention.query_tile import QueryTile
from hidet.schedules.cuda.attention.softmax import OnlineSoftmax
from hidet.schedules.cuda.tiles.copy_pipeline import CopyPipeline
from hidet.target import ACCESS_BYTES, WARP


def warp_position(point: Blocks) -> tuple[Value, Value]:
    """The warp's first row in the block's tile, and its number among those that divide its keys."""
    warp = threadIdx.x // WARP
    return warp // point.warps[1] * point.part[0], warp % point.warps[1]


@part
def load_rows(
    operand: Global, at: Callable[[Value, Value, Value], Index], tiles: Shared, stage: Int,
    z: Any, first: Int, threads: int,
) -> None:  # fmt: skip
    """Asynchronous copies of an operand's rows from `first` on to a tile are begun."""
    vector = ACCESS_BYTES // tiles.dtype.nbytes
    across = (tiles.shape[2] - vector) // vector
    pieces = tiles.shape[1] * across
    for step in unroll(-(-pieces // threads)):
        piece = step * threads + threadIdx.x
        if True if pieces % threads == 0 else piece < pieces:
            row, column = piece // across, piece % across * vector
            for v in vectorize(vector):
                # In one expression: a value with a name is loaded first.
                store_async(
                    address(tiles, stage, row, column + v),
                    get(operand, *at(z, first + row, column + v)),
                )


@record
class KeyCopies:
    """What the copy pipeline asks for: the copies of a block's tiles of k and v, and of its q."""

    of: Operands
    point: Blocks
    tile: QueryTile
    tile_q: Shared
    tiles_k: Shared
    tiles_v: Shared

    @part
    def begin(self) -> None:
        """Rows of q, after the first keys: where q computes something, their loads are started."""
        tile, at = self.tile, self.of.rows.row_at
        load_rows(self.of.q, at, self.tile_q, 0, tile.z, tile.top, self.point.threads)

    @part
    def load(self, stage: Int, iteration: Int) -> None:
        """A tile of k and one of v."""
        tile, at, threads = self.tile, self.of.rows.key_at, self.point.threads
        start = (tile.first + iteration) * self.point.keys
        load_rows(self.of.k, at, self.tiles_k, stage, tile.z, start, threads)
        load_rows(self.of.v, at, self.tiles_v, stage, tile.z, start, threads)


@part
def main_loop(point: Blocks, of: Operands, tile: QueryTile, softmax: OnlineSoftmax) -> None:
    """All keys of the block's tile are taken into the softmax."""
    rows, dtype, stages = of.rows, of.rows.op.q.dtype, point.stages
    (size, width), (height, keys) = point.padded(rows), point.part
    row, key_warp = warp_position(point)
    # A vector between rows keeps fragments from bank conflicts.
    vector = ACCESS_BYTES // dtype.nbytes
    tile_q = shared_tensor(dtype, (1, point.rows, size + vector))
    tiles_k = shared_tensor(dtype, (stages, point.keys, size + vector))
    tiles_v = shared_tensor(dtype, (stages, point.keys, width + vector))
    in_registers, shape_q = point.q_in_registers(rows), (height // 16, size // 16, 8)
    q_fragments = register_tensor(dtype, shape_q) if in_registers else None
    operands = tile_q, tiles_k, tiles_v, size
    products = point.products(rows)(*operands, row, key_warp * keys, q_fragments)
    pipe = CopyPipeline(stages, KeyCopies(of, point, tile, tile_q, tiles_k, tiles_v))
    pipe.begin(tile.iterations)
    if in_registers and tile.iterations > 0:
        pipe.wait()
        products.load_q()
    for iteration in range(tile.iterations):
        pipe.step(iteration + pipe.ahead, tile.iterations)
        scores = register_tensor(f32, (height // 16, keys // 8, 4), init=0.0)
        products.qk(iteration % stages, scores)
        start = (tile.first + iteration) * point.keys
        key = start + key_warp * keys
        softmax.apply_mask(scores, tile.z, tile.top + row, key, start + point.keys)
        rescale = register_tensor(f32, softmax.row_max.shape)
        softmax.weigh(scores, rescale)
        softmax.rescale_accumulators(rescale)
        products.pv(iteration % stages, scores, softmax.accumulators)
