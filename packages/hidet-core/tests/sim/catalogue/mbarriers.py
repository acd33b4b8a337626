"""mbarriers: phases that nobody waited for, counted wrongly, or barriers used as other memory.

Rows of x go through a ring of three buffers: one thread of the first warp copies them in, two warps
of consumers add 1. `full[s]` says that a buffer holds a row, `empty[s]` that it was read.
"""

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
STAGES = 3


def plus_one(x):
    return x + 1


@script
def begin(full, empty, consumers):
    """Barriers for a ring, seen by all threads and by asynchronous copies."""
    if threadIdx.x == 0:
        for s in range(STAGES):
            mbarrier_init(~full[s], 1)
            mbarrier_init(~empty[s], consumers)
        fence_mbarrier_init()
    syncthreads()


@mistake(PHASE, MissingWait, ramp(7, 64), expected=plus_one)
def consumers_that_do_not_wait(right):
    @script
    def kernel(x: f32[7, 64], y: f32[7, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 96
        ring = shared_tensor("float32", [STAGES, 64])
        full = shared_tensor("uint64", [STAGES])
        empty = shared_tensor("uint64", [STAGES])
        begin(full, empty, 2)
        if threadIdx.x < 32:
            if threadIdx.x == 0:
                for i in range(7):
                    s = i % STAGES
                    mbarrier_wait(~empty[s], (i // STAGES + 1) % 2)
                    mbarrier_arrive_expect_tx(~full[s], 256)
                    cp_async_bulk_load(~ring[s, 0], ~x[i, 0], 256, ~full[s])  # other
        else:
            t = threadIdx.x - 32
            for i in range(7):
                s = i % STAGES
                if right:
                    mbarrier_wait(~full[s], i // STAGES % 2)
                y[i, t] = ring[s, t] + 1  # wrong
                syncwarp()
                if t % 32 == 0:
                    mbarrier_arrive(~empty[s])

    return kernel


@mistake(PHASE, Deadlock, ramp(7, 64), expected=plus_one)
def parity_that_flips_every_turn(right):
    """The parity of a ring's barrier flips once a round, not once a turn.

    In turn 1 the consumers wait for parity 1 of a barrier in its first round. Before the row has
    come they go right through; afterwards, as here, they wait for a row that never comes.
    """

    @script
    def kernel(x: f32[7, 64], y: f32[7, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 96
        ring = shared_tensor("float32", [STAGES, 64])
        full = shared_tensor("uint64", [STAGES])
        empty = shared_tensor("uint64", [STAGES])
        begin(full, empty, 2)
        if threadIdx.x < 64:
            t = threadIdx.x
            for i in range(7):
                s = i % STAGES
                if right:
                    mbarrier_wait(~full[s], i // STAGES % 2)
                else:
                    mbarrier_wait(~full[s], i % 2)  # wrong
                y[i, t] = ring[s, t] + 1
                syncwarp()
                if t % 32 == 0:
                    mbarrier_arrive(~empty[s])
        else:
            if threadIdx.x == 64:
                for i in range(7):
                    s = i % STAGES
                    mbarrier_wait(~empty[s], (i // STAGES + 1) % 2)
                    mbarrier_arrive_expect_tx(~full[s], 256)
                    cp_async_bulk_load(~ring[s, 0], ~x[i, 0], 256, ~full[s])

    return kernel


@mistake(PHASE, MissingWait, ramp(7, 64), expected=plus_one)
def a_ring_refilled_one_phase_early(right):
    """The producer waits for a release of two rounds ago, which it knows of already."""

    @script
    def kernel(x: f32[7, 64], y: f32[7, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 96
        ring = shared_tensor("float32", [STAGES, 64])
        full = shared_tensor("uint64", [STAGES])
        empty = shared_tensor("uint64", [STAGES])
        begin(full, empty, 2)
        if threadIdx.x < 32:
            if threadIdx.x == 0:
                for i in range(7):
                    s = i % STAGES
                    late = 0 if right else 1
                    if i >= STAGES:
                        mbarrier_wait(~empty[s], (i // STAGES + 1 + late) % 2)
                    mbarrier_arrive_expect_tx(~full[s], 256)
                    cp_async_bulk_load(~ring[s, 0], ~x[i, 0], 256, ~full[s])  # wrong
        else:
            t = threadIdx.x - 32
            for i in range(7):
                s = i % STAGES
                mbarrier_wait(~full[s], i // STAGES % 2)
                y[i, t] = ring[s, t] + 1
                syncwarp()
                if t % 32 == 0:
                    mbarrier_arrive(~empty[s])

    return kernel


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


@mistake(PHASE, MissingWait, ramp(7, 64), expected=plus_one)
def the_barrier_of_the_next_stage(right):
    """In the first turns the other barrier's phase is over by chance."""

    @script
    def kernel(x: f32[7, 64], y: f32[7, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 96
        ring = shared_tensor("float32", [STAGES, 64])
        full = shared_tensor("uint64", [STAGES])
        empty = shared_tensor("uint64", [STAGES])
        begin(full, empty, 2)
        if threadIdx.x < 32:
            if threadIdx.x == 0:
                for i in range(7):
                    s = i % STAGES
                    mbarrier_wait(~empty[s], (i // STAGES + 1) % 2)
                    mbarrier_arrive_expect_tx(~full[s], 256)
                    cp_async_bulk_load(~ring[s, 0], ~x[i, 0], 256, ~full[s])  # other
        else:
            t = threadIdx.x - 32
            for i in range(7):
                s = i % STAGES
                w = s if right else (s + 1) % STAGES
                mbarrier_wait(~full[w], i // STAGES % 2)
                y[i, t] = ring[s, t] + 1  # wrong
                syncwarp()
                if t % 32 == 0:
                    mbarrier_arrive(~empty[s])

    return kernel


@mistake("shared-memory race", Race, ramp(7, 64), expected=plus_one)
def one_lane_releases_for_its_warp(right):
    """Without `syncwarp`, the arrival of lane 0 says nothing of what the other lanes have read."""

    @script
    def kernel(x: f32[7, 64], y: f32[7, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 96
        ring = shared_tensor("float32", [STAGES, 64])
        full = shared_tensor("uint64", [STAGES])
        empty = shared_tensor("uint64", [STAGES])
        begin(full, empty, 2)
        if threadIdx.x < 32:
            if threadIdx.x == 0:
                for i in range(7):
                    s = i % STAGES
                    mbarrier_wait(~empty[s], (i // STAGES + 1) % 2)
                    mbarrier_arrive_expect_tx(~full[s], 256)
                    cp_async_bulk_load(~ring[s, 0], ~x[i, 0], 256, ~full[s])  # wrong
        else:
            t = threadIdx.x - 32
            for i in range(7):
                s = i % STAGES
                mbarrier_wait(~full[s], i // STAGES % 2)
                y[i, t] = ring[s, t] + 1  # other
                if right:
                    syncwarp()
                if t % 32 == 0:
                    mbarrier_arrive(~empty[s])

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


@mistake(DEADLOCK, Deadlock, ramp(4, 64), expected=plus_one, says="1 of 3 arrivals")
def a_release_by_too_few(right):
    """`empty` expects an arrival of the producer too, which never comes."""
    consumers = 2 if right else 3

    @script
    def kernel(x: f32[4, 64], y: f32[4, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 96
        ring = shared_tensor("float32", [STAGES, 64])
        full = shared_tensor("uint64", [STAGES])
        empty = shared_tensor("uint64", [STAGES])
        begin(full, empty, consumers)
        if threadIdx.x < 32:
            if threadIdx.x == 0:
                for i in range(4):
                    s = i % STAGES
                    mbarrier_wait(~empty[s], (i // STAGES + 1) % 2)  # wrong
                    mbarrier_arrive_expect_tx(~full[s], 256)
                    cp_async_bulk_load(~ring[s, 0], ~x[i, 0], 256, ~full[s])
        else:
            t = threadIdx.x - 32
            for i in range(4):
                s = i % STAGES
                mbarrier_wait(~full[s], i // STAGES % 2)
                y[i, t] = ring[s, t] + 1
                syncwarp()
                if t % 32 == 0:
                    mbarrier_arrive(~empty[s])

    return kernel


@mistake(MISUSE, MbarrierMisuse, ramp(4, 64), expected=plus_one)
def every_lane_arrives(right):
    @script
    def kernel(x: f32[4, 64], y: f32[4, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 96
        ring = shared_tensor("float32", [STAGES, 64])
        full = shared_tensor("uint64", [STAGES])
        empty = shared_tensor("uint64", [STAGES])
        begin(full, empty, 2)
        if threadIdx.x < 32:
            if threadIdx.x == 0:
                for i in range(4):
                    s = i % STAGES
                    mbarrier_wait(~empty[s], (i // STAGES + 1) % 2)
                    mbarrier_arrive_expect_tx(~full[s], 256)
                    cp_async_bulk_load(~ring[s, 0], ~x[i, 0], 256, ~full[s])
        else:
            t = threadIdx.x - 32
            for i in range(4):
                s = i % STAGES
                mbarrier_wait(~full[s], i // STAGES % 2)
                y[i, t] = ring[s, t] + 1
                syncwarp()
                if t % (32 if right else 1) == 0:
                    mbarrier_arrive(~empty[s])  # wrong

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
        turn = shared_tensor("uint64", [1])
        total = shared_tensor("float32", [32])
        if threadIdx.x == 0:
            mbarrier_init(turn, 2 if right else 1)
        syncthreads()
        t = threadIdx.x % 32
        if threadIdx.x >= 32:
            for i in range(6):
                if right:
                    syncwarp()
                    if t == 0:
                        mbarrier_arrive(turn)
                mbarrier_wait(turn, i % 2)  # wrong
            y[t] = total[t]
        else:
            total[t] = 0
            for i in range(6):
                total[t] += x[i, t]
                syncwarp()
                if t == 0:
                    mbarrier_arrive(turn)
                if right:
                    mbarrier_wait(turn, i % 2)

    return kernel
