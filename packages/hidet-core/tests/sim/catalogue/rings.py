"""Rings of buffers between a producer and consumers: phases waited for wrongly, released wrongly.

Rows of x go through a ring of three buffers: one thread of the first warp copies them in, two warps
of consumers add 1. `full[s]` says that a buffer holds a row, `empty[s]` that it was read.
"""

from catalogue.case import mistake, ramp
from hidet.lang import attr, f32, script, shared_tensor
from hidet.lang.cuda import (
    cp_async_bulk_load,
    fence_mbarrier_init,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    syncthreads,
    syncwarp,
    threadIdx,
)
from hidet.sim import Deadlock, MbarrierMisuse, MissingWait, Race

PHASE, DEADLOCK = "missing wait on an mbarrier phase", "deadlock"
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


@mistake(PHASE, MissingWait, ramp(7, 64), expected=plus_one)
def parity_that_flips_every_iteration(right):
    """The parity of a ring's barrier flips once a round, not once an iteration.

    In turn 1 the consumers wait for parity 1 of a barrier in its first round. Before the row has
    come they go right through; afterwards they would wait for a row that never comes.
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
                    mbarrier_wait(~full[s], i % 2)  # waited
                y[i, t] = ring[s, t] + 1  # wrong
                syncwarp()
                if t % 32 == 0:
                    mbarrier_arrive(~empty[s])
        else:
            if threadIdx.x == 64:
                for i in range(7):
                    s = i % STAGES
                    mbarrier_wait(~empty[s], (i // STAGES + 1) % 2)
                    mbarrier_arrive_expect_tx(~full[s], 256)
                    cp_async_bulk_load(~ring[s, 0], ~x[i, 0], 256, ~full[s])  # other

    return kernel


@mistake(PHASE, MbarrierMisuse, ramp(7, 64), expected=plus_one)
def a_ring_refilled_one_phase_early(right):
    """The producer waits for a release of two rounds ago, and begins a phase within another."""

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
                        mbarrier_wait(~empty[s], (i // STAGES + 1 + late) % 2)  # waited
                    mbarrier_arrive_expect_tx(~full[s], 256)  # wrong
                    cp_async_bulk_load(~ring[s, 0], ~x[i, 0], 256, ~full[s])
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


@mistake(PHASE, MissingWait, ramp(7, 64), expected=plus_one)
def the_barrier_of_the_next_stage(right):
    """In the first iterations the other barrier's phase is over by chance."""

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
