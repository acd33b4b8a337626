"""Threads of a block that touch one element of shared memory, and nothing orders them."""

import numpy as np

from catalogue.case import backwards, mistake, ramp
from hidet.lang import attr, f16, f32, i32, register_tensor, script, shared_tensor, store
from hidet.lang.cuda import (
    atomic_add,
    barrier_arrive,
    barrier_sync,
    blockIdx,
    laneid,
    ldmatrix,
    shfl_down_sync,
    syncthreads,
    syncwarp,
    threadIdx,
)
from hidet.sim import Race

KIND = "shared-memory race"


@mistake(KIND, Race, ramp(64), expected=backwards, says=r"reads what .* wrote")
def no_barrier_before_the_read(right):
    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        tile[threadIdx.x] = x[threadIdx.x]  # other
        if right:
            syncthreads()
        y[threadIdx.x] = tile[63 - threadIdx.x]  # wrong

    return kernel


@mistake(KIND, Race, ramp(5, 64), expected=backwards, says=r"writes what .* read")
def no_barrier_before_the_next_tile(right):
    @script
    def kernel(x: f32[5, 64], y: f32[5, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        for row in range(5):
            tile[threadIdx.x] = x[row, threadIdx.x]  # wrong
            syncthreads()
            y[row, threadIdx.x] = tile[63 - threadIdx.x]  # other
            if right:
                syncthreads()

    return kernel


@mistake(KIND, Race, ramp(4, 64), expected=lambda x: x.sum(1))
def the_last_warp_needs_no_barrier(right):
    """A sum as it was written before Volta, when the lanes of a warp went in step."""

    @script
    def kernel(x: f32[4, 64], y: f32[4]):
        attr.cuda_grid_dim = 4
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        i = threadIdx.x
        tile[i] = x[blockIdx.x, i]
        syncthreads()
        if i < 32:
            for step in range(6):
                half = 32 >> step
                value = tile[i] + tile[(i + half) % 64]  # wrong
                if right:
                    syncwarp()
                if i < half:
                    tile[i] = value  # other
                if right:
                    syncwarp()
        if i == 0:
            y[blockIdx.x] = tile[0]

    return kernel


@mistake(KIND, Race, ramp(64), expected=lambda x: x.reshape(-1, 2)[:, ::-1].reshape(-1))
def a_shuffle_orders_no_memory(right):
    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        i = threadIdx.x
        value = x[i]
        tile[i] = value  # other
        if right:
            syncwarp()
        shfl_down_sync(0xFFFFFFFF, value, 1)
        y[i] = tile[i ^ 1]  # wrong

    return kernel


def fragments(x):
    """What the lanes hold of an 8 × 8 matrix: two elements of row `lane // 4`."""
    return x.reshape(64)


@mistake(KIND, Race, ramp(8, 8, of=np.float16), expected=fragments, says=r"reads what .* wrote")
def ldmatrix_right_after_the_store(right):
    @script
    def kernel(x: f16[8, 8], y: f16[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        tile = shared_tensor("float16", [8, 8])
        own = register_tensor("float16", [2])
        for t in range(2):
            tile[laneid // 4, laneid % 4 * 2 + t] = x[laneid // 4, laneid % 4 * 2 + t]  # other
        if right:
            syncwarp()
        ldmatrix(own, ~tile[laneid % 8, 0], 1)  # wrong
        y[laneid * 2] = own[0]
        y[laneid * 2 + 1] = own[1]

    return kernel


@mistake(KIND, Race, ramp(6, 64), expected=backwards, says=r"writes what .* read")
def double_buffer_of_one(right):
    """Two buffers make one of the two barriers superfluous, if they are used in turn."""
    buffers = 2 if right else 1

    @script
    def kernel(x: f32[6, 64], y: f32[6, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [2, 64])
        for row in range(6):
            tile[row % buffers, threadIdx.x] = x[row, threadIdx.x]  # wrong
            syncthreads()
            y[row, threadIdx.x] = tile[row % buffers, 63 - threadIdx.x]  # other

    return kernel


@mistake(KIND, Race, ramp(6, 64), expected=backwards)
def double_buffer_off_by_one_stage(right):
    """The next tile goes where the present one is read from."""

    @script
    def kernel(x: f32[6, 64], y: f32[6, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [2, 64])
        tile[0, threadIdx.x] = x[0, threadIdx.x]
        for row in range(6):
            syncthreads()
            if row < 5:
                stage = (row + 1) % 2 if right else row % 2
                tile[stage, threadIdx.x] = x[row + 1, threadIdx.x]  # other
            y[row, threadIdx.x] = tile[row % 2, 63 - threadIdx.x]  # wrong

    return kernel


@mistake(KIND, Race, ramp(64), expected=np.cumsum, says=r"writes what .* read")
def a_scan_in_place(right):
    """Every thread reads its neighbour's sum while that neighbour replaces it."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        sums = shared_tensor("float32", [64])
        i = threadIdx.x
        value = x[i]
        sums[i] = value
        for step in range(6):
            syncthreads()
            if i >= 1 << step:
                value += sums[i - (1 << step)]  # other
            if right:
                syncthreads()
            sums[i] = value  # wrong
        y[i] = value

    return kernel


@mistake(
    KIND,
    Race,
    np.arange(128, dtype=np.int32) * 7 % 8,
    expected=lambda x: np.bincount(x, minlength=8).astype(np.int32),
)
def a_histogram_without_atomics(right):
    @script
    def kernel(x: i32[128], y: i32[8]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 128
        bins = shared_tensor("int32", [8])
        if threadIdx.x < 8:
            bins[threadIdx.x] = 0
        syncthreads()
        if right:
            atomic_add(~bins[x[threadIdx.x]], 1)
        else:
            bins[x[threadIdx.x]] += 1  # wrong
        syncthreads()
        if threadIdx.x < 8:
            y[threadIdx.x] = bins[threadIdx.x]

    return kernel


@mistake(KIND, Race, ramp(4, 32), expected=backwards, says=r"writes what .* read")
def the_producer_does_not_wait_for_its_buffer(right):
    """Two warps hand one buffer over by named barriers: full is waited for, free is not."""

    @script
    def kernel(x: f32[4, 32], y: f32[4, 32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [32])
        if threadIdx.x < 32:
            for row in range(4):
                if right and row > 0:
                    barrier_sync(2, 64)
                tile[laneid] = x[row, laneid]  # wrong
                barrier_sync(1, 64)
        else:
            for row in range(4):
                barrier_sync(1, 64)
                y[row, laneid] = tile[31 - laneid]  # other
                if right and row < 3:
                    barrier_arrive(2, 64)

    return kernel


@mistake(KIND, Race, ramp(64), expected=lambda x: x[60:].repeat(16), says="different values|wrote")
def everyone_writes_the_same_element(right):
    """What one thread of each group has to write, all of them do."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        last = shared_tensor("float32", [4])
        if right:
            if threadIdx.x >= 60:
                last[threadIdx.x - 60] = x[threadIdx.x]
        else:
            last[threadIdx.x % 4] = x[threadIdx.x]  # wrong
        syncthreads()
        store(y, threadIdx.x, last[threadIdx.x // 16])

    return kernel
