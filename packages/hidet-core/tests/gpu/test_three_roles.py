"""A persistent pipeline: a warp loads, two warpgroups reduce in turns, and a warp stores.

Bulk copies fill a ring of four stages; the warpgroups take tiles in turns, one reduces while the
other one hands its tile on; a warp stores finished tiles, two of them in flight.
"""

import numpy as np
import pytest

from hidet.lang import attr, f32, script, shared_tensor
from hidet.lang.cuda import (
    blockIdx,
    cp_async_bulk_commit_group,
    cp_async_bulk_load,
    cp_async_bulk_store,
    cp_async_bulk_wait_group,
    fence_mbarrier_init,
    fence_proxy_async,
    gridDim,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    syncthreads,
    threadIdx,
)
from hidet.sim import MissingFence, MissingWait, Uninitialised, blocks
from hidet.types import u64

STAGES, WIDTH, BLOCKS = 4, 128, 3
NBYTES = WIDTH * 4


@script
def load(x, ring, full, empty, tiles, depth):
    count = 0
    for tile in range(blockIdx.x, tiles, gridDim.x):
        for k in range(depth):
            stage = count % STAGES
            mbarrier_wait(~empty[stage], (count // STAGES + 1) % 2)
            mbarrier_arrive_expect_tx(~full[stage], NBYTES)
            cp_async_bulk_load(~ring[stage, 0], ~x[tile, k, 0], NBYTES, ~full[stage])
            count += 1


@script
def reduce(ring, out, full, empty, order, ready, free, part, tiles, depth, careful):
    thread = threadIdx.x % WIDTH
    iteration = part
    for _ in range(blockIdx.x + part * gridDim.x, tiles, 2 * gridDim.x):
        mbarrier_wait(~order[part], (iteration // 2 + 1 - part) % 2)
        total = f32(0.0)
        for k in range(depth):
            count = iteration * depth + k
            mbarrier_wait(~full[count % STAGES], count // STAGES % 2)
            total = total * 0.5 + ring[count % STAGES, thread]
            mbarrier_arrive(~empty[count % STAGES])
        mbarrier_arrive(~order[1 - part])
        if careful != "free":
            mbarrier_wait(~free[part], (iteration // 2 + 1) % 2)
        out[part, thread] = total
        if careful != "fence":
            fence_proxy_async("shared::cta")
        mbarrier_arrive(~ready[part])
        iteration += 2


@script
def store(y, out, ready, free, tiles, careful):
    iteration = 0
    for tile in range(blockIdx.x, tiles, gridDim.x):
        part = iteration % 2
        if careful != "ready":
            mbarrier_wait(~ready[part], iteration // 2 % 2)
        cp_async_bulk_store(~y[tile, 0], ~out[part, 0], NBYTES)
        cp_async_bulk_commit_group()
        if careful != "read":
            cp_async_bulk_wait_group(1, read=True)
        if iteration > 0:
            mbarrier_arrive(~free[1 - part])
        iteration += 1  # noqa: SIM113
    if careful != "end":
        cp_async_bulk_wait_group(0, read=True)


def pipeline(tiles, depth, careful="all"):
    """y[tile] = x[tile, -1] + x[tile, -2] / 2 + ...; `careful` names what is left out."""

    @script
    def kernel(x: f32[tiles, depth, WIDTH], y: f32[tiles, WIDTH]) -> None:
        attr.cuda_grid_dim = BLOCKS
        attr.cuda_block_dim = 2 * WIDTH + 64
        ring, out = shared_tensor(f32, (STAGES, WIDTH)), shared_tensor(f32, (2, WIDTH))
        full, empty = shared_tensor(u64, STAGES), shared_tensor(u64, STAGES)
        order, ready, free = shared_tensor(u64, 2), shared_tensor(u64, 2), shared_tensor(u64, 2)
        if threadIdx.x == 0:
            for stage in range(STAGES):
                mbarrier_init(~full[stage], 1)
                mbarrier_init(~empty[stage], WIDTH)
            for part in range(2):
                mbarrier_init(~order[part], WIDTH)
                mbarrier_init(~ready[part], WIDTH)
                mbarrier_init(~free[part], 1)
            fence_mbarrier_init()
        syncthreads()
        if threadIdx.x < 2 * WIDTH:
            part = threadIdx.x // WIDTH
            reduce(ring, out, full, empty, order, ready, free, part, tiles, depth, careful)
        elif threadIdx.x == 2 * WIDTH:
            load(x, ring, full, empty, tiles, depth)
        elif threadIdx.x == 2 * WIDTH + 32:
            store(y, out, ready, free, tiles, careful)

    return kernel


@pytest.mark.parametrize(("tiles", "depth"), [(13, 3), (7, 6), (2, 1)])
def test_three_roles(tiles, depth, run):
    x = np.random.default_rng(0).standard_normal((tiles, depth, WIDTH)).astype(np.float32)
    _, found = run(pipeline(tiles, depth), x, np.zeros((tiles, WIDTH), np.float32))
    expected = np.zeros((tiles, WIDTH), np.float32)
    for k in range(depth):
        expected = expected * np.float32(0.5) + x[:, k]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("by_block", [False, True])
@pytest.mark.parametrize("threads", [128, 32])
def test_simt_groups_of_any_size_give_the_same(by_block, threads, simulated, monkeypatch):
    x = np.random.default_rng(0).standard_normal((13, 3, WIDTH)).astype(np.float32)
    arrays = x, np.zeros((13, WIDTH), np.float32)
    _, expected = simulated(pipeline(13, 3), *arrays)
    parting = blocks.Parting(by_block, threads)
    monkeypatch.setattr(blocks, "partings", lambda program, run: [parting])
    _, found = simulated(pipeline(13, 3), *arrays)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("careful", "kinds"),
    [
        ("free", (MissingWait,)),
        ("fence", (MissingFence,)),
        ("ready", (Uninitialised,)),
        ("read", (MissingWait,)),
        ("end", (MissingWait,)),
    ],
)
def test_what_is_left_out_is_missed(careful, kinds, simulated):
    x, y = np.ones((13, 3, WIDTH), np.float32), np.zeros((13, WIDTH), np.float32)
    with pytest.raises(kinds):
        simulated(pipeline(13, 3, careful), x, y)
