"""cp.async: copies that are used before they were waited for, or whose target is still in use."""

from catalogue.case import backwards, mistake, ramp
from hidet.lang import attr, f32, script, shared_tensor
from hidet.lang.cuda import (
    cp_async,
    cp_async_commit_group,
    cp_async_wait_all,
    cp_async_wait_group,
    syncthreads,
    threadIdx,
)
from hidet.sim import MissingWait, Race

KIND = "missing wait on an async copy"


@mistake(KIND, MissingWait, ramp(64), expected=backwards, says="asynchronous copy")
def a_barrier_waits_for_no_copy(right):
    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        cp_async(~tile[threadIdx.x], ~x[threadIdx.x], 4)  # other
        if right:
            cp_async_wait_all()
        syncthreads()
        y[threadIdx.x] = tile[63 - threadIdx.x]  # wrong

    return kernel


@mistake(KIND, Race, ramp(64), expected=backwards)
def a_wait_is_no_barrier(right):
    """The wait makes a thread see its own copies, not those of the others."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        cp_async(~tile[threadIdx.x], ~x[threadIdx.x], 4)
        cp_async_wait_all()
        if right:
            syncthreads()
        y[threadIdx.x] = tile[63 - threadIdx.x]  # wrong

    return kernel


@mistake(KIND, MissingWait, ramp(64), expected=backwards, says="asynchronous copy")
def a_group_that_was_never_committed(right):
    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        cp_async(~tile[threadIdx.x], ~x[threadIdx.x], 4)  # other
        if right:
            cp_async_commit_group()
        cp_async_wait_group(0)
        syncthreads()
        y[threadIdx.x] = tile[63 - threadIdx.x]  # wrong

    return kernel


@mistake(KIND, MissingWait, ramp(8, 64), expected=backwards, says="asynchronous copy")
def one_group_too_many_left_pending(right):
    """Three stages, two copies under way: the row of this iteration is waited for with 1, not with
    2."""

    @script
    def kernel(x: f32[8, 64], y: f32[8, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [3, 64])
        i = threadIdx.x
        for row in range(2):
            cp_async(~tile[row, i], ~x[row, i], 4)
            cp_async_commit_group()
        for row in range(8):
            cp_async_wait_group(1 if right else 2)
            syncthreads()
            if row + 2 < 8:
                cp_async(~tile[(row + 2) % 3, i], ~x[row + 2, i], 4)
            cp_async_commit_group()
            y[row, i] = tile[row % 3, 63 - i]  # wrong

    return kernel


@mistake(KIND, MissingWait, ramp(8, 64), expected=backwards, says="asynchronous copy")
def the_last_tiles_commit_nothing(right):
    """Without empty groups at the end, `wait_group(1)` no longer waits for the row of the
    iteration."""

    @script
    def kernel(x: f32[8, 64], y: f32[8, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [3, 64])
        i = threadIdx.x
        for row in range(2):
            cp_async(~tile[row, i], ~x[row, i], 4)
            cp_async_commit_group()
        for row in range(8):
            cp_async_wait_group(1)
            syncthreads()
            if row + 2 < 8:
                cp_async(~tile[(row + 2) % 3, i], ~x[row + 2, i], 4)  # other
                cp_async_commit_group()
            else:
                if right:
                    cp_async_commit_group()
            y[row, i] = tile[row % 3, 63 - i]  # wrong

    return kernel


@mistake(KIND, MissingWait, ramp(8, 64), expected=backwards)
def a_stage_refilled_while_it_is_read(right):
    """Two buffers and two copies ahead: the copy of row + 2 goes into the buffer of this row."""
    stages = 3 if right else 2

    @script
    def kernel(x: f32[8, 64], y: f32[8, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [stages, 64])
        i = threadIdx.x
        for row in range(2):
            cp_async(~tile[row, i], ~x[row, i], 4)
            cp_async_commit_group()
        for row in range(8):
            cp_async_wait_group(1)
            syncthreads()
            if row + 2 < 8:
                cp_async(~tile[(row + 2) % stages, i], ~x[row + 2, i], 4)  # other
            cp_async_commit_group()
            y[row, i] = tile[row % stages, 63 - i]  # wrong

    return kernel
