"""Barriers that tell something, partial ones, and those with numbers made at run time."""

import numpy as np
import pytest

from hidet.errors import BadKernel, SimulationError
from hidet.lang import attr, boolean, i32, script, shared_tensor
from hidet.lang.cuda import (
    barrier_arrive,
    barrier_sync,
    blockIdx,
    fence,
    laneid,
    load_relaxed,
    store_relaxed,
    syncthreads,
    syncthreads_and,
    syncthreads_count,
    syncthreads_or,
    syncwarp,
    threadfence,
    threadIdx,
    warpid,
)
from hidet.sim import launch


def test_counts(run):
    @script
    def kernel(x: i32[3, 70], counts: i32[3, 70], votes: boolean[2, 3, 70]):
        attr.cuda_grid_dim = 3
        attr.cuda_block_dim = 70
        b, t = blockIdx.x, threadIdx.x
        counts[b, t] = syncthreads_count(x[b, t] > 0)
        votes[0, b, t] = syncthreads_and(x[b, t] > 0)
        votes[1, b, t] = syncthreads_or(x[b, t])

    x = np.zeros((3, 70), np.int32)
    x[0, ::3], x[2] = 1, 5
    _, counts, votes = run(kernel, x, np.zeros((3, 70), np.int32), np.zeros((2, 3, 70), np.bool_))
    assert counts.T.tolist() == [[24, 0, 70]] * 70
    assert votes[0].T.tolist() == [[False, False, True]] * 70
    assert votes[1].T.tolist() == [[True, False, True]] * 70


def test_they_order_accesses_as_syncthreads_does(run):
    @script
    def kernel(y: i32[64]):
        attr.cuda_block_dim = 64
        tile = shared_tensor(i32, 64)
        tile[threadIdx.x] = threadIdx.x
        if syncthreads_or(threadIdx.x == 63):
            y[threadIdx.x] = tile[63 - threadIdx.x]

    (y,) = run(kernel, np.zeros(64, np.int32))
    assert y.tolist() == list(range(63, -1, -1))


def test_lanes_of_a_mask_meet(run):
    @script
    def kernel(y: i32[64]):
        attr.cuda_block_dim = 64
        tile = shared_tensor(i32, 64)
        if laneid < 16:
            tile[threadIdx.x] = threadIdx.x
            syncwarp(0xFFFF)
            y[threadIdx.x] = tile[threadIdx.x ^ 15]
        else:
            y[threadIdx.x] = -1

    (y,) = run(kernel, np.zeros(64, np.int32))
    t = np.arange(64)
    assert y.tolist() == np.where(t % 32 < 16, t ^ 15, -1).tolist()


def test_named_barriers_with_numbers_made_at_run_time(run):
    """Two pairs of warps exchange, each over a barrier of its own."""

    @script
    def kernel(y: i32[128], pairs: i32):
        attr.cuda_block_dim = 128
        tile = shared_tensor(i32, 128)
        tile[threadIdx.x] = threadIdx.x
        barrier_sync(1 + warpid // 2, pairs * 32)
        y[threadIdx.x] = tile[threadIdx.x ^ 32]

    y = np.zeros(128, np.int32)
    launch(kernel, y, 2)
    assert y.tolist() == [t ^ 32 for t in range(128)]
    with pytest.raises(SimulationError, match="the threads at a named barrier are 0"):
        launch(kernel, y, 0)


def test_producers_and_consumers(run):
    @script
    def kernel(y: i32[3, 64]):
        attr.cuda_block_dim = 128
        tile = shared_tensor(i32, 64)
        for i in range(3):
            if warpid < 2:
                tile[threadIdx.x] = threadIdx.x + i
                barrier_arrive(1 + i % 2, 128)
                barrier_sync(3, 128)
            else:
                barrier_sync(1 + i % 2, 128)
                y[i, threadIdx.x - 64] = tile[127 - threadIdx.x]
                barrier_arrive(3, 128)

    (y,) = run(kernel, np.zeros((3, 64), np.int32))
    assert y.tolist() == [[63 - t + i for t in range(64)] for i in range(3)]


@pytest.mark.parametrize("scope", ["gpu", "sys"])
@pytest.mark.parametrize("how", [fence, threadfence])
def test_fences_make_data_visible_to_other_blocks(run, how, scope):
    @script
    def kernel(data: i32[32], flag: i32[1], y: i32[32]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 32
        if blockIdx.x == 0:
            data[threadIdx.x] = threadIdx.x
            syncthreads()
            how(scope=scope)
            if threadIdx.x == 0:
                store_relaxed(~flag[0], 1)
        else:
            if threadIdx.x == 0:
                while load_relaxed(~flag[0]) == 0:
                    pass
                how(scope=scope)
            syncthreads()
            y[threadIdx.x] = data[threadIdx.x]

    zeros = np.zeros(32, np.int32)
    _, _, y = run(kernel, zeros, np.zeros(1, np.int32), zeros)
    assert y.tolist() == list(range(32))


def test_refused():
    with pytest.raises(BadKernel, match="not 'world'"):

        @script
        def world(y: i32[1]):
            attr.cuda_block_dim = 32
            fence("acq_rel", "world")
