"""A warpgroup's way along the keys: 64 rows of q, products by `wgmma`, the softmax in registers.

While the products of one tile's weights with v are under way, so are the scores of the next tile,
and the softmax of these begins as soon as they are there. Warpgroups of a block start their
products in turns: one multiplies while another takes exponentials.
"""

from __future__ import annotations

from hidet.lang import (
    ScriptFunction,
    address,
    cast,
    f32,
    grid,
    minimum,
    register_tensor,
    script,
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
from hidet.schedules.cuda.attention.softmax import masking, rescaling, weighting
from hidet.target import ACCESS_BYTES, WARP, WARPGROUP

STEP = 16
"""How much of a product's depth one instruction multiplies."""
ROWS_THERE, OWN_TURN = 1, 4
"""The first of the named barriers at which each warpgroup's rows are there, and it may multiply."""


def filling(rows: Rows, point: Groups) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (q, tile_q, z, top). Each brings its own rows.

    They are brought by threads: q may be computed where it is read.
    """
    vector = ACCESS_BYTES // rows.op.q.dtype.nbytes
    across = point.padded(rows)[0] // vector

    @script
    def fill(q, tile_q, z, top):  # type: ignore[no-untyped-def]
        thread, part = threadIdx.x % WARPGROUP, threadIdx.x // WARPGROUP
        for step in unroll(HEIGHT * across // WARPGROUP):
            piece = step * WARPGROUP + thread
            row, column = part * HEIGHT + piece // across, piece % across * vector
            for v in vectorize(vector):
                # In one expression: a value with a name is loaded first.
                store_async(
                    address(tile_q, row, column + v),
                    get(q, *rows.row_at(z, top + row, column + v)),
                )
        cp_async_wait_all()
        fence_proxy_async("shared::cta")
        barrier_sync(ROWS_THERE + part, WARPGROUP)

    return fill


def multiplying(rows: Rows, point: Groups) -> tuple[ScriptFunction, ScriptFunction]:
    """Parts of a kernel, for warpgroups: both products of a tile are started, a group each.

    (tile_q, tiles_k, stage, scores) and (weights, tiles_v, stage, sums)
    """
    (size, width), keys, nbytes = point.padded(rows), point.keys, rows.op.q.dtype.nbytes

    @script
    def score(tile_q, tiles_k, stage, scores):  # type: ignore[no-untyped-def]
        part = threadIdx.x // WARPGROUP
        wgmma_fence(scores)
        for panel in static(range(0, size, PANEL)):
            left = wgmma_descriptor(address(tile_q, part * HEIGHT, panel))
            right = wgmma_descriptor(address(tiles_k, stage, 0, panel))
            for deep in static(range(0, PANEL, STEP)):
                here, there = left.advance(deep * nbytes), right.advance(deep * nbytes)
                wgmma(here, there, scores, f"m64n{keys}k16", add=panel + deep > 0)
        wgmma_commit_group()

    @script
    def weigh(weights, tiles_v, stage, sums):  # type: ignore[no-untyped-def]
        wgmma_fence(weights, sums)
        right = wgmma_descriptor(address(tiles_v, stage, 0, 0), transposed=True)
        for j in static(range(keys // STEP)):
            there = right.advance(j * STEP * PANEL * nbytes)
            wgmma(address(weights, j, 0), there, sums, f"m64n{width}k16")
        wgmma_commit_group()

    return score, weigh


def taking_turns(point: Groups) -> tuple[ScriptFunction, ScriptFunction]:
    """Parts of a kernel, for warpgroups: (), (more). The own turn; the next one's.

    `more`: whether the first warpgroup has another turn after this one.
    """
    groups, pair = point.groups, 2 * WARPGROUP

    @script
    def take():  # type: ignore[no-untyped-def]
        if groups > 1:
            barrier_sync(OWN_TURN + threadIdx.x // WARPGROUP, pair)

    @script
    def pass_on(more):  # type: ignore[no-untyped-def]
        part = threadIdx.x // WARPGROUP
        if groups > 1 and (part < groups - 1 or more):
            barrier_arrive(OWN_TURN + (part + 1) % groups, pair)

    return take, pass_on


def softening(rows: Rows, point: Groups) -> ScriptFunction:
    """A part of a kernel: (scores, mask, z, top, turn, row_max, row_sum, rescale). Scores to
    weights."""
    keys, causal = point.keys, rows.op.causal
    mask_scores, weight = masking(rows, STEP, keys), weighting(rows, STEP, keys)

    @script
    def soften(scores, mask, z, top, turn, row_max, row_sum, rescale):  # type: ignore[no-untyped-def]
        row, start = top + threadIdx.x // WARP * STEP, turn * keys
        seen = rows.keys
        if causal:
            seen = minimum(seen, 1 if rows.together else row + 1)
        mask_scores(scores, mask, z, row, start, start + keys > seen)
        weight(scores, row_max, row_sum, rescale)

    return soften


def walking(rows: Rows, point: Groups) -> ScriptFunction:
    """A part of a kernel, for warpgroups.

    (tile_q, k, v, mask, z, top, turns, row_max, row_sum, sums): `turns` tiles of keys; what they
    give is in the last three.
    """
    keys, width, dtype = point.keys, point.padded(rows)[1], rows.op.q.dtype
    score, weigh = multiplying(rows, point)
    take, pass_on = taking_turns(point)
    soften, rescale_sums = softening(rows, point), rescaling(STEP, width)

    @script
    def pack(scores, weights):  # type: ignore[no-untyped-def]
        for j, e in unroll(grid(keys // STEP, 8)):
            weights[j, e] = cast(scores[0, j * 2 + e // 4, e % 4], dtype)

    @script
    def walk(  # type: ignore[no-untyped-def]
        tile_q, k, v, mask, z, top, turns, row_max, row_sum, sums
    ):
        scores = register_tensor(f32, (1, keys // 8, 4))
        weights = register_tensor(dtype, (keys // STEP, 8))
        rescale = register_tensor(f32, (1, 2))
        if threadIdx.x // WARPGROUP == point.groups - 1:
            pass_on(True)
        first = k.pipe.wait(0)
        take()
        score(tile_q, k.tiles, first, scores)
        pass_on(turns > 1)
        wgmma_wait_group(0, scores)
        k.pipe.release(first)
        soften(scores, mask, z, top, 0, row_max, row_sum, rescale)
        pack(scores, weights)
        for turn in range(1, turns):
            k.pipe.wait(turn)
            take()
            score(tile_q, k.tiles, k.pipe.stage(turn), scores)
            v.pipe.wait(turn - 1)
            weigh(weights, v.tiles, v.pipe.stage(turn - 1), sums)
            pass_on(turn + 1 < turns)
            wgmma_wait_group(1, scores)
            k.pipe.release(k.pipe.stage(turn))
            soften(scores, mask, z, top, turn, row_max, row_sum, rescale)
            wgmma_wait_group(0, sums, weights)
            v.pipe.release(v.pipe.stage(turn - 1))
            rescale_sums(sums, rescale)
            pack(scores, weights)
        v.pipe.wait(turns - 1)
        weigh(weights, v.tiles, v.pipe.stage(turns - 1), sums)
        wgmma_wait_group(0, sums)

    return walk
