"""A warpgroup's way along the keys: 64 rows of q, products by `wgmma`, the softmax in registers.

While the products of one tile's weights with v are under way, so are the scores of the next tile,
and the softmax of these begins as soon as they are there. Warpgroups of a block start their
products in turns: one multiplies while another takes exponentials.
"""

from __future__ import annotations

from typing import Any

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
    minimum,
    part,
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
from hidet.schedules.cuda.attention.ring import Keys
from hidet.schedules.cuda.attention.softmax import mask_scores, rescale_sums, weigh_scores
from hidet.target import ACCESS_BYTES, WARP, WARPGROUP

STEP = 16
"""How much of a product's depth one instruction multiplies."""
ROWS_THERE, OWN_TURN = 1, 4
"""The first of the named barriers at which each warpgroup's rows are there, and it may multiply."""


@part
def fill(rows: Rows, point: Groups, q: Global, tile_q: Shared, z: Int, top: Int) -> None:
    """For warpgroups: each brings its own rows of q, by its threads, as q may be computed where it
    is read."""
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
                get(q, *rows.row_at(z, top + row, column + v)),
            )
    cp_async_wait_all()
    fence_proxy_async("shared::cta")
    barrier_sync(ROWS_THERE + group, WARPGROUP)


@part
def score(tile_q: Shared, tiles_k: Shared, stage: Int, scores: Registers) -> None:
    """For warpgroups: the products of rows of q with a tile of keys are started."""
    keys, nbytes = scores.shape[1] * 8, tile_q.dtype.nbytes
    group = threadIdx.x // WARPGROUP
    wgmma_fence(scores)
    for panel in static(range(0, tile_q.shape[1], PANEL)):
        left = wgmma_descriptor(address(tile_q, group * HEIGHT, panel))
        right = wgmma_descriptor(address(tiles_k, stage, 0, panel))
        for deep in static(range(0, PANEL, STEP)):
            here, there = left.advance(deep * nbytes), right.advance(deep * nbytes)
            wgmma(here, there, scores, f"m64n{keys}k16", add=panel + deep > 0)
    wgmma_commit_group()


@part
def weigh(weights: Registers, tiles_v: Shared, stage: Int, sums: Registers) -> None:
    """For warpgroups: the products of weights with a tile of values are started."""
    width, nbytes = sums.shape[1] * 8, tiles_v.dtype.nbytes
    wgmma_fence(weights, sums)
    right = wgmma_descriptor(address(tiles_v, stage, 0, 0), transposed=True)
    for j in static(range(weights.shape[0])):
        there = right.advance(j * STEP * PANEL * nbytes)
        wgmma(address(weights, j, 0), there, sums, f"m64n{width}k16")
    wgmma_commit_group()


@part
def take_turn(groups: int) -> None:
    """For warpgroups: wait for the own turn to multiply."""
    if groups > 1:
        barrier_sync(OWN_TURN + threadIdx.x // WARPGROUP, 2 * WARPGROUP)


@part
def pass_on(groups: int, more: Bool) -> None:
    """For warpgroups: the next one's turn. `more`: whether the first has another after this."""
    group = threadIdx.x // WARPGROUP
    if groups > 1 and (group < groups - 1 or more):
        barrier_arrive(OWN_TURN + (group + 1) % groups, 2 * WARPGROUP)


@part
def masked_weights(
    rows: Rows, scores: Registers, mask: Any, z: Int, top: Int, turn: Int,
    row_max: Registers, row_sum: Registers, rescale: Registers,
) -> None:  # fmt: skip
    """For warpgroups: the scores of tile `turn` of keys become weights."""
    keys = scores.shape[1] * 8
    row, start = top + threadIdx.x // WARP * STEP, turn * keys
    seen = rows.keys
    if rows.op.causal:
        seen = minimum(seen, 1 if rows.together else row + 1)
    mask_scores(rows, scores, mask, z, row, start, start + keys > seen)
    weigh_scores(rows, scores, row_max, row_sum, rescale)


@part
def pack(scores: Registers, weights: Registers) -> None:
    """Weights become fragments of the next product's first operand."""
    for j, e in unroll(grid(weights.shape[0], 8)):
        weights[j, e] = cast(scores[0, j * 2 + e // 4, e % 4], weights.dtype)


@part
def walk(
    rows: Rows, point: Groups, tile_q: Shared, k: Keys, v: Keys, mask: Any, z: Int, top: Int,
    turns: Int, row_max: Registers, row_sum: Registers, sums: Registers,
) -> None:  # fmt: skip
    """For warpgroups: `turns` tiles of keys; what they give is in the last three."""
    keys, dtype, groups = point.keys, rows.op.q.dtype, point.groups
    scores = register_tensor(f32, (1, keys // 8, 4))
    weights = register_tensor(dtype, (keys // STEP, 8))
    rescale = register_tensor(f32, (1, 2))
    if threadIdx.x // WARPGROUP == groups - 1:
        pass_on(groups, True)
    first = k.pipe.wait(0)
    take_turn(groups)
    score(tile_q, k.tiles, first, scores)
    pass_on(groups, turns > 1)
    wgmma_wait_group(0, scores)
    k.pipe.release(first)
    masked_weights(rows, scores, mask, z, top, 0, row_max, row_sum, rescale)
    pack(scores, weights)
    for turn in range(1, turns):
        k.pipe.wait(turn)
        take_turn(groups)
        score(tile_q, k.tiles, k.pipe.stage(turn), scores)
        v.pipe.wait(turn - 1)
        weigh(weights, v.tiles, v.pipe.stage(turn - 1), sums)
        pass_on(groups, turn + 1 < turns)
        wgmma_wait_group(1, scores)
        k.pipe.release(k.pipe.stage(turn))
        masked_weights(rows, scores, mask, z, top, turn, row_max, row_sum, rescale)
        wgmma_wait_group(0, sums, weights)
        v.pipe.release(v.pipe.stage(turn - 1))
        rescale_sums(sums, rescale)
        pack(scores, weights)
    v.pipe.wait(turns - 1)
    weigh(weights, v.tiles, v.pipe.stage(turns - 1), sums)
    wgmma_wait_group(0, sums)
