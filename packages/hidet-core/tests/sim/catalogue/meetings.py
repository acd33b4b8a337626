"""Barriers that only some threads reach, and threads that wait for each other for ever."""

import numpy as np

from catalogue.case import backwards, mistake, ramp
from hidet.errors import SimulationError
from hidet.lang import attr, f32, i32, script, shared_tensor
from hidet.lang.cuda import (
    atomic_add,
    atomic_cas,
    atomic_exchange,
    barrier_arrive,
    barrier_sync,
    blockIdx,
    laneid,
    syncthreads,
    threadfence,
    threadIdx,
)
from hidet.sim import Deadlock, DivergentBarrier, StepLimit

SOME, DEADLOCK = "barrier reached by some threads only", "deadlock"
ENDLESS = "kernel that never ends"


@mistake(SOME, DivergentBarrier, ramp(50), expected=backwards)
def a_barrier_for_the_threads_in_range(right):
    @script
    def kernel(x: f32[50], y: f32[50]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [50])
        if threadIdx.x < 50:
            tile[threadIdx.x] = x[threadIdx.x]
            if not right:
                syncthreads()  # wrong
                y[threadIdx.x] = tile[49 - threadIdx.x]
        if right:
            syncthreads()
            if threadIdx.x < 50:
                y[threadIdx.x] = tile[49 - threadIdx.x]

    return kernel


@mistake(SOME, DivergentBarrier, ramp(100), expected=lambda x: np.append(x[:64], x[64:] * 2))
def a_loop_that_some_leave_earlier(right):
    """64 threads take 100 elements in two iterations, the second for 36 of them."""

    @script
    def kernel(x: f32[100], y: f32[100]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        if right:
            for iteration in range(2):
                i = iteration * 64 + threadIdx.x
                tile[threadIdx.x] = x.get(i)
                syncthreads()
                y.put(i, tile[threadIdx.x] * (iteration + 1))
                syncthreads()
        else:
            for i in range(threadIdx.x, 100, 64):
                tile[threadIdx.x] = x[i]
                syncthreads()  # wrong
                y[i] = tile[threadIdx.x]
                syncthreads()

    return kernel


@mistake(SOME, DivergentBarrier, ramp(64), expected=backwards)
def two_barriers_in_two_branches(right):
    """Barriers are told apart by where they are: half a block at each is nobody's barrier."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        if threadIdx.x < 32:
            tile[threadIdx.x] = x[threadIdx.x]
            if not right:
                syncthreads()  # wrong
        else:
            tile[threadIdx.x] = x[threadIdx.x] + 0
            if not right:
                syncthreads()
        if right:
            syncthreads()
        y[threadIdx.x] = tile[63 - threadIdx.x]

    return kernel


@mistake(DEADLOCK, Deadlock, ramp(64), expected=backwards)
def a_barrier_that_expects_one_warp_more(right):
    threads = 64 if right else 96

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 96
        tile = shared_tensor("float32", [64])
        if threadIdx.x < 64:
            tile[threadIdx.x] = x[threadIdx.x]
            barrier_sync(1, threads)  # wrong
            y[threadIdx.x] = tile[63 - threadIdx.x]

    return kernel


@mistake(DEADLOCK, Deadlock, ramp(2, 32), expected=lambda x: np.ascontiguousarray(x[::-1, ::-1]))
def each_waits_for_the_other_first(right):
    """Two warps meet at two barriers, in opposite order."""

    @script
    def kernel(x: f32[2, 32], y: f32[2, 32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [2, 32])
        if threadIdx.x < 32:
            tile[0, laneid] = x[0, laneid]
            barrier_sync(1, 64)  # wrong
            y[0, laneid] = tile[1, 31 - laneid] if right else x[1, 31 - laneid]
            barrier_sync(2, 64)
        else:
            tile[1, laneid] = x[1, laneid]
            barrier_sync(1 if right else 2, 64)
            y[1, laneid] = tile[0, 31 - laneid]
            barrier_sync(2 if right else 1, 64)

    return kernel


@mistake(DEADLOCK, Deadlock, ramp(4, 32), expected=backwards)
def the_consumer_frees_one_buffer_less(right):
    """The producer waits for a free buffer in each iteration; the last iteration's is never
    freed."""

    @script
    def kernel(x: f32[4, 32], y: f32[4, 32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [32])
        if threadIdx.x < 32:
            for row in range(4):
                tile[laneid] = x[row, laneid]
                barrier_arrive(1, 64)
                barrier_sync(2, 64)  # wrong
        else:
            for row in range(4):
                barrier_sync(1, 64)
                y[row, laneid] = tile[31 - laneid]
                if right:
                    barrier_arrive(2, 64)
                else:
                    if row < 3:
                        barrier_arrive(2, 64)

    return kernel


@mistake(
    DEADLOCK,
    Deadlock,
    ramp(8),
    np.zeros(1, np.int32),
    expected=lambda x, lock: x.sum(keepdims=True),
    start=0,
)
def a_lock_that_is_not_given_back(right):
    @script
    def kernel(x: f32[8], lock: i32[1], y: f32[1]):
        attr.cuda_grid_dim = 8
        attr.cuda_block_dim = 1
        while atomic_cas(~lock[0], 0, 1) != 0:  # wrong
            pass
        threadfence()
        y[0] += x[blockIdx.x]
        threadfence()
        if right:
            atomic_exchange(~lock[0], 0)

    return kernel


@mistake(
    DEADLOCK, Deadlock, np.zeros(1, np.int32), expected=lambda count: np.arange(4, dtype=np.int32)
)
def a_grid_barrier_that_counts_threads(right):
    """Each block arrives once, and waits for as many as there are threads."""

    @script
    def kernel(count: i32[1], y: i32[4]):
        attr.cuda_grid_dim = 4
        attr.cuda_block_dim = 32
        if threadIdx.x == 0:
            atomic_add(~count[0], 1)
            while atomic_add(~count[0], 0) < (4 if right else 128):  # wrong
                pass
            y[blockIdx.x] = blockIdx.x
        syncthreads()

    return kernel


@mistake(SOME, SimulationError, ramp(64), expected=backwards)
def one_barrier_with_two_counts(right):
    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        tile[threadIdx.x] = x[threadIdx.x]
        if threadIdx.x < 32:
            barrier_arrive(1, 64)
        else:
            barrier_sync(1, 64 if right else 96)  # wrong
            y[threadIdx.x] = tile[63 - threadIdx.x]
        syncthreads()
        if threadIdx.x < 32:
            y[threadIdx.x] = tile[63 - threadIdx.x]

    return kernel


@mistake(ENDLESS, Deadlock, ramp(64), expected=lambda x: x.astype(np.int32))
def a_search_that_stops_shrinking(right):
    """Two neighbours have the lower one in their middle: the interval stays what it is."""

    @script
    def kernel(x: f32[64], y: i32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        low, high = i32(0), i32(64)
        apart = 1 if right else 0
        while low + apart < high:  # wrong
            middle = (low + high) // 2
            if x[middle] <= threadIdx.x:
                low = middle
            else:
                high = middle
        y[threadIdx.x] = low

    return kernel


@mistake(ENDLESS, StepLimit, ramp(33), expected=lambda x: x[::2].sum(keepdims=True))
def a_stride_past_the_end(right):
    """33 is odd: steps of two never meet it."""

    @script
    def kernel(x: f32[33], y: f32[1]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 1
        i, total = i32(0), f32(0)
        if right:
            while i < 33:
                total += x[i]
                i += 2
        else:
            while i != 33:  # wrong
                total += x.get(i)
                i += 2
        y[0] = total

    return kernel
