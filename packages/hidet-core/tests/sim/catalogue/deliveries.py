"""cp.async completed by mbarriers: the wait is the barrier's, and covers what came before."""

from catalogue.case import backwards, mistake, ramp
from hidet.lang import attr, f32, script, shared_tensor
from hidet.lang.cuda import (
    cp_async,
    cp_async_mbarrier_arrive,
    cp_async_mbarrier_arrive_noinc,
    mbarrier_arrive,
    mbarrier_init,
    mbarrier_wait,
    syncthreads,
    threadIdx,
)
from hidet.sim import Deadlock, MissingWait, Race

KIND, DEADLOCK = "missing wait on an async copy", "deadlock"


@script
def begin(bar, count):
    """One barrier, seen by all threads."""
    if threadIdx.x == 0:
        mbarrier_init(bar, count)
    syncthreads()


@mistake(KIND, MissingWait, ramp(64), expected=backwards)
def a_delivery_nobody_waits_for(right):
    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        full = shared_tensor("uint64", [1])
        begin(full, 64)
        cp_async(~tile[threadIdx.x], ~x[threadIdx.x], 4)
        cp_async_mbarrier_arrive_noinc(full)  # other
        if right:
            mbarrier_wait(full, 0)
        else:
            syncthreads()
        y[threadIdx.x] = tile[63 - threadIdx.x]  # wrong

    return kernel


@mistake(KIND, MissingWait, ramp(2, 64), expected=lambda x: backwards(x[0] + x[1]))
def a_copy_begun_after_the_arrival(right):
    """The arrival is for the copies so far; the second one is in no phase."""

    @script
    def kernel(x: f32[2, 64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [2, 64])
        full = shared_tensor("uint64", [1])
        begin(full, 64)
        t = threadIdx.x
        cp_async(~tile[0, t], ~x[0, t], 4)
        if not right:
            cp_async_mbarrier_arrive_noinc(full)
        cp_async(~tile[1, t], ~x[1, t], 4)  # other
        if right:
            cp_async_mbarrier_arrive_noinc(full)
        mbarrier_wait(full, 0)
        y[t] = tile[0, 63 - t] + tile[1, 63 - t]  # wrong

    return kernel


@mistake(KIND, MissingWait, ramp(64), expected=backwards, says="asynchronous copy")
def an_ordinary_arrival_after_the_copy(right):
    """`mbarrier_arrive` comes at once, whether the copies are done or not."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        full = shared_tensor("uint64", [1])
        begin(full, 64)
        cp_async(~tile[threadIdx.x], ~x[threadIdx.x], 4)  # other
        if right:
            cp_async_mbarrier_arrive_noinc(full)
        else:
            mbarrier_arrive(full)
        mbarrier_wait(full, 0)
        y[threadIdx.x] = tile[63 - threadIdx.x]  # wrong

    return kernel


@mistake(KIND, Race, ramp(5, 64), expected=backwards, says=r"writes what .* read")
def a_delivered_buffer_filled_again(right):
    """A ring of one buffer: the next row is copied before all have read this one."""

    @script
    def kernel(x: f32[5, 64], y: f32[5, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        full = shared_tensor("uint64", [1])
        begin(full, 64)
        for row in range(5):
            cp_async(~tile[threadIdx.x], ~x[row, threadIdx.x], 4)  # wrong
            cp_async_mbarrier_arrive_noinc(full)
            mbarrier_wait(full, row % 2)
            y[row, threadIdx.x] = tile[63 - threadIdx.x]  # other
            if right:
                syncthreads()

    return kernel


@mistake(DEADLOCK, Deadlock, ramp(64), expected=backwards, says="arrivals are missing")
def arrivals_that_are_not_counted(right):
    """The form that makes the barrier expect its own arrivals is no arrival for the others'."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        full = shared_tensor("uint64", [1])
        begin(full, 64)
        cp_async(~tile[threadIdx.x], ~x[threadIdx.x], 4)
        if right:
            cp_async_mbarrier_arrive_noinc(full)
        else:
            cp_async_mbarrier_arrive(full)
        mbarrier_wait(full, 0)  # wrong
        y[threadIdx.x] = tile[63 - threadIdx.x]

    return kernel
