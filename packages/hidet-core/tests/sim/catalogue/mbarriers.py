"""Single mbarriers: bytes and arrivals counted wrongly, initialised or taken away too soon."""

import numpy as np

from catalogue.case import backwards, mistake, ramp
from hidet.lang import attr, f32, script, shared_tensor
from hidet.lang.cuda import (
    cp_async_bulk_load,
    fence_mbarrier_init,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_inval,
    mbarrier_wait,
    syncthreads,
    syncwarp,
    threadIdx,
)
from hidet.sim import Deadlock, MbarrierMisuse, MissingFence, MissingWait, Race

PHASE, DEADLOCK, FENCE = "missing wait on an mbarrier phase", "deadlock", "missing proxy fence"
MISUSE = "mbarrier used wrongly"


@mistake(PHASE, MissingWait, ramp(64), expected=backwards)
def a_fresh_barrier_waited_with_parity_1(right):
    """A barrier that was just made lets parity 1 through: "the phase before the first" is over."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        ready = shared_tensor("uint64", [1])
        if threadIdx.x == 0:
            mbarrier_init(ready, 1)
            fence_mbarrier_init()
        syncthreads()
        if not right:
            mbarrier_wait(ready, 1)
        if threadIdx.x == 0:
            mbarrier_arrive_expect_tx(ready, 256)
            cp_async_bulk_load(tile, x, 256, ready)  # other
        if right:
            mbarrier_wait(ready, 0)
        y[threadIdx.x] = tile[63 - threadIdx.x]  # wrong

    return kernel


@mistake(
    DEADLOCK, Deadlock, ramp(2, 64), expected=lambda x: x[0] + x[1], says="256 bytes are missing"
)
def two_copies_at_one_barrier(right):
    """Both copies complete at one barrier: it expects the bytes of both, no more."""

    @script
    def kernel(x: f32[2, 64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        rows = shared_tensor("float32", [2, 64])
        ready = shared_tensor("uint64", [1])
        if threadIdx.x == 0:
            mbarrier_init(ready, 1)
            fence_mbarrier_init()
        syncthreads()
        if threadIdx.x == 0:
            mbarrier_arrive_expect_tx(ready, 512 if right else 768)
            for i in range(2):
                cp_async_bulk_load(~rows[i, 0], ~x[i, 0], 256, ready)
        mbarrier_wait(ready, 0)  # wrong
        y[threadIdx.x] = rows[0, threadIdx.x] + rows[1, threadIdx.x]

    return kernel


@mistake(PHASE, MissingWait, ramp(2, 64), expected=lambda x: x[0] + x[1])
def the_second_copy_is_not_expected(right):
    """The barrier completes with the first of two copies."""

    @script
    def kernel(x: f32[2, 64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        rows = shared_tensor("float32", [2, 64])
        ready = shared_tensor("uint64", [1])
        if threadIdx.x == 0:
            mbarrier_init(ready, 1)
            fence_mbarrier_init()
        syncthreads()
        if threadIdx.x == 0:
            mbarrier_arrive_expect_tx(ready, 512 if right else 256)
            for i in range(2):
                cp_async_bulk_load(~rows[i, 0], ~x[i, 0], 256, ready)  # other
        mbarrier_wait(ready, 0)
        y[threadIdx.x] = rows[0, threadIdx.x] + rows[1, threadIdx.x]  # wrong

    return kernel


@mistake(MISUSE, MbarrierMisuse, ramp(64), expected=lambda x: x + 1)
def a_barriers_memory_used_again(right):
    """The barriers' bytes serve as scratch memory at the end, and are still barriers."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        ready = shared_tensor("uint64", [64])
        if threadIdx.x == 0:
            mbarrier_init(ready, 1)
            fence_mbarrier_init()
        syncthreads()
        if threadIdx.x == 0:
            mbarrier_arrive_expect_tx(ready, 256)
            cp_async_bulk_load(tile, x, 256, ready)
        mbarrier_wait(ready, 0)
        syncthreads()
        if right:
            if threadIdx.x == 0:
                mbarrier_inval(ready)
            syncthreads()
        ready[63 - threadIdx.x] = 1  # wrong
        syncthreads()
        y[threadIdx.x] = tile[threadIdx.x] + ready[threadIdx.x]

    return kernel


@mistake(MISUSE, Race, ramp(64), expected=backwards)
def a_barrier_invalidated_too_early(right):
    """The first thread through the wait takes the barrier away from those who still look at it."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        ready = shared_tensor("uint64", [1])
        if threadIdx.x == 0:
            mbarrier_init(ready, 1)
            fence_mbarrier_init()
        syncthreads()
        if threadIdx.x == 0:
            mbarrier_arrive_expect_tx(ready, 256)
            cp_async_bulk_load(tile, x, 256, ready)
        mbarrier_wait(ready, 0)  # other
        if right:
            syncthreads()
        if threadIdx.x == 0:
            mbarrier_inval(ready)  # wrong
        y[threadIdx.x] = tile[63 - threadIdx.x]

    return kernel


@mistake(MISUSE, MissingWait, ramp(64), expected=backwards)
def a_barrier_invalidated_under_a_copy(right):
    """The copy still has to arrive at the barrier that is taken away."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        ready = shared_tensor("uint64", [1])
        if threadIdx.x == 0:
            mbarrier_init(ready, 1)
            fence_mbarrier_init()
            mbarrier_arrive_expect_tx(ready, 256)
            cp_async_bulk_load(tile, x, 256, ready)  # other
            if right:
                mbarrier_wait(ready, 0)
            mbarrier_inval(ready)  # wrong
        syncthreads()
        y[threadIdx.x] = tile[63 - threadIdx.x]

    return kernel


@mistake(FENCE, MissingFence, ramp(64), expected=backwards)
def a_barrier_the_copy_may_not_see(right):
    """The initialisation is an ordinary store; copies see it after its own fence."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        ready = shared_tensor("uint64", [1])
        if threadIdx.x == 0:
            mbarrier_init(ready, 1)
            if right:
                fence_mbarrier_init()
        syncthreads()
        if threadIdx.x == 0:
            mbarrier_arrive_expect_tx(ready, 256)
            cp_async_bulk_load(tile, x, 256, ready)  # wrong
        mbarrier_wait(ready, 0)
        y[threadIdx.x] = tile[63 - threadIdx.x]

    return kernel


@mistake(MISUSE, Race, ramp(64), expected=backwards)
def a_barrier_used_before_it_is_made(right):
    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        ready = shared_tensor("uint64", [1])
        if threadIdx.x == 0:
            mbarrier_init(ready, 1)  # other
            fence_mbarrier_init()
            mbarrier_arrive_expect_tx(ready, 256)
            cp_async_bulk_load(tile, x, 256, ready)
        if right:
            syncthreads()
        mbarrier_wait(ready, 0)  # wrong
        y[threadIdx.x] = tile[63 - threadIdx.x]

    return kernel


@mistake(
    MISUSE, MbarrierMisuse, np.ones((6, 32), np.float32), expected=lambda x: x.sum(0), says="lapped"
)
def a_waiter_that_is_lapped(right):
    """Two phases later the parity is the old one again: who did not look in between waits on."""

    @script
    def kernel(x: f32[6, 32], y: f32[32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        iteration = shared_tensor("uint64", [1])
        total = shared_tensor("float32", [32])
        if threadIdx.x == 0:
            mbarrier_init(iteration, 2 if right else 1)
        syncthreads()
        t = threadIdx.x % 32
        if threadIdx.x >= 32:
            for i in range(6):
                if right:
                    syncwarp()
                    if t == 0:
                        mbarrier_arrive(iteration)
                mbarrier_wait(iteration, i % 2)  # wrong
            y[t] = total[t]
        else:
            total[t] = 0
            for i in range(6):
                total[t] += x[i, t]
                syncwarp()
                if t == 0:
                    mbarrier_arrive(iteration)
                if right:
                    mbarrier_wait(iteration, i % 2)

    return kernel
