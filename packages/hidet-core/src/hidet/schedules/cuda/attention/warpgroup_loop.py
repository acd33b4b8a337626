"""The main loop of attention by warpgroups: products by `wgmma`, the softmax in registers.

While the products of one tile's weights with v run, so do those of q with the next tile of k, and
the softmax of these begins as soon as they are done. Warpgroups of a block begin their products one
after the other: one multiplies while another takes exponentials (FlashAttention-3, Shah et al.
2024).
"""

from __future__ import annotations

from hidet.lang import (
    Bool,
    Global,
    Int,
    Registers,
    Shared,
    address,
    cast,
    f32,
    grid,
    part,
    record,
    register_tensor,
    static,
    unroll,
    vectorize,
)
from hidet.lang.cuda import (
    barrier_arrive,
    barrier_sync,
    cp_async_wait_all,
    fence_proxy_async,
    store_async,
    threadIdx,
    wgmma,
    wgmma_commit_group,
    wgmma_descriptor,
    wgmma_fence,
    wgmma_wait_group,
)
from hidet.lang.memory import get
from hidet.schedules.attention import Rows
from hidet.schedules.cuda.attention.groups import HEIGHT, PANEL, Groups
from hidet.schedules.cuda.attention.key_tiles import KeyTiles
from hidet.schedules.cuda.attention.query_tile import QueryTile
from hidet.schedules.cuda.attention.softmax import OnlineSoftmax
from hidet.target import ACCESS_BYTES, WARP, WARPGROUP

STEP = 16
"""How much of a product's depth one instruction multiplies."""
Q_LOADED, MAY_MULTIPLY = 1, 4
"""The first of the named barriers at which each warpgroup's rows of q have come, and at which it
waits for the tensor cores."""


@part
def load_q(rows: Rows, point: Groups, q: Global, tile_q: Shared, tile: QueryTile) -> None:
    """For warpgroups: each loads its own rows of q by its threads, as q may be computed where it is
    read."""
    vector = ACCESS_BYTES // rows.op.q.dtype.nbytes
    across = point.padded(rows)[0] // vector
    thread, group = threadIdx.x % WARPGROUP, threadIdx.x // WARPGROUP
    for step in unroll(HEIGHT * across // WARPGROUP):
        piece = step * WARPGROUP + thread
        row, column = group * HEIGHT + piece // across, piece % across * vector
        for v in vectorize(vector):
            # In one expression: a value with a name is loaded first.
            store_async(
                address(tile_q, row, column + v),
                get(q, *rows.row_at(tile.z, tile.top + row, column + v)),
            )
    cp_async_wait_all()
    fence_proxy_async("shared::cta")
    barrier_sync(Q_LOADED + group, WARPGROUP)


@part
def await_tensor_cores(groups: int) -> None:
    """For warpgroups: wait until the one before has begun its products."""
    if groups > 1:
        barrier_sync(MAY_MULTIPLY + threadIdx.x // WARPGROUP, 2 * WARPGROUP)


@part
def yield_tensor_cores(groups: int, more: Bool) -> None:
    """For warpgroups: the next one may multiply. `more`: whether the first has another tile."""
    group = threadIdx.x // WARPGROUP
    if groups > 1 and (group < groups - 1 or more):
        barrier_arrive(MAY_MULTIPLY + (group + 1) % groups, 2 * WARPGROUP)


@record
class WgmmaProducts:
    """The two matmuls of a warpgroup, which are started and awaited, with their registers."""

    tile_q: Shared
    k: KeyTiles
    v: KeyTiles
    scores: Registers
    """float32[1, keys / 8, 4]."""
    weights: Registers
    """The fragments of the second product's first operand: [keys / 16, 8]."""

    @part
    def start_qk(self, iteration: Int) -> None:
        """The products of rows of q with a tile of k are started."""
        tile_q, scores = self.tile_q, self.scores
        nbytes, stage = tile_q.dtype.nbytes, self.k.pipe.stage(iteration)
        group = threadIdx.x // WARPGROUP
        wgmma_fence(scores)
        for panel in static(range(0, tile_q.shape[1], PANEL)):
            left = wgmma_descriptor(address(tile_q, group * HEIGHT, panel))
            right = wgmma_descriptor(address(self.k.tiles, stage, 0, panel))
            for deep in static(range(0, PANEL, STEP)):
                a, b = left.advance(deep * nbytes), right.advance(deep * nbytes)
                wgmma(a, b, scores, f"m64n{scores.shape[1] * 8}k16", add=panel + deep > 0)
        wgmma_commit_group()

    @part
    def start_pv(self, iteration: Int, accumulators: Registers) -> None:
        """The products of weights with a tile of v, once that has come, are started."""
        weights, tiles = self.weights, self.v.tiles
        stage = self.v.pipe.wait(iteration)
        wgmma_fence(weights, accumulators)
        right = wgmma_descriptor(address(tiles, stage, 0, 0), transposed=True)
        for j in static(range(weights.shape[0])):
            b = right.advance(j * STEP * PANEL * tiles.dtype.nbytes)
            wgmma(address(weights, j, 0), b, accumulators, f"m64n{accumulators.shape[1] * 8}k16")
        wgmma_commit_group()

    @part
    def softmax_step(
        self, softmax: OnlineSoftmax, rescale: Registers, tile: QueryTile, iteration: Int
    ) -> None:
        """The scores of a tile of keys become weights."""
        keys = self.scores.shape[1] * 8
        row, start = tile.top + threadIdx.x // WARP * STEP, iteration * keys
        softmax.apply_mask(self.scores, tile.z, row, start, start + keys)
        softmax.weigh(self.scores, rescale)

    @part
    def pack_weights(self) -> None:
        """Weights become fragments of the next product's first operand."""
        scores, weights = self.scores, self.weights
        for j, e in unroll(grid(weights.shape[0], 8)):
            weights[j, e] = cast(scores[0, j * 2 + e // 4, e % 4], weights.dtype)


@part
def main_loop(
    groups: int, tile_q: Shared, k: KeyTiles, v: KeyTiles, tile: QueryTile, softmax: OnlineSoftmax
) -> None:
    """For warpgroups: all keys of the block's tile are taken into the softmax."""
    keys, accumulators, iterations = k.tiles.shape[1], softmax.accumulators, tile.iterations
    scores = register_tensor(f32, (1, keys // 8, 4))
    weights = register_tensor(tile_q.dtype, (keys // STEP, 8))
    rescale = register_tensor(f32, (1, 2))
    products = WgmmaProducts(tile_q, k, v, scores, weights)
    if threadIdx.x // WARPGROUP == groups - 1:
        yield_tensor_cores(groups, True)
    first = k.pipe.wait(0)
    await_tensor_cores(groups)
    products.start_qk(0)
    yield_tensor_cores(groups, iterations > 1)
    wgmma_wait_group(0, scores)
    k.pipe.release(first)
    products.softmax_step(softmax, rescale, tile, 0)
    products.pack_weights()
    for iteration in range(1, iterations):
        k.pipe.wait(iteration)
        await_tensor_cores(groups)
        products.start_qk(iteration)
        products.start_pv(iteration - 1, accumulators)
        yield_tensor_cores(groups, iteration + 1 < iterations)
        wgmma_wait_group(1, scores)
        k.pipe.release(k.pipe.stage(iteration))
        products.softmax_step(softmax, rescale, tile, iteration)
        wgmma_wait_group(0, accumulators, weights)
        v.pipe.release(v.pipe.stage(iteration - 1))
        softmax.rescale_accumulators(rescale)
        products.pack_weights()
    products.start_pv(iterations - 1, accumulators)
    wgmma_wait_group(0, accumulators)
