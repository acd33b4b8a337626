"""Threads that touch one element of global memory: of one block, and of several in a launch."""

import numpy as np

from catalogue.case import backwards, mistake, ramp
from hidet.lang import attr, f32, i32, script, script_module, shared_tensor
from hidet.lang.cuda import (
    atomic_add,
    blockIdx,
    syncthreads,
    threadfence,
    threadIdx,
)
from hidet.sim import Race

BLOCK, GRID = "global-memory race inside a block", "global-memory race between blocks"


@mistake(BLOCK, Race, ramp(64), expected=lambda x: x + x[::-1], says=r"reads what .* wrote")
def results_read_back_too_early(right):
    with script_module() as module:

        @script
        def kernel(x: f32[64], copy: f32[64], y: f32[64]):
            attr.cuda_grid_dim = 1
            attr.cuda_block_dim = 64
            copy[threadIdx.x] = x[threadIdx.x]  # other
            if right:
                syncthreads()
            y[threadIdx.x] = x[threadIdx.x] + copy[63 - threadIdx.x]  # wrong

        x, y = module.params(x=f32[64], y=f32[64])
        module.launch(kernel, x, module.workspace(f32[64], "copy"), y)
    return module


@mistake(BLOCK, Race, ramp(64), expected=lambda x: x[-1:], says="different values")
def the_last_one_wins(right):
    @script
    def kernel(x: f32[64], y: f32[1]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        if right:
            if threadIdx.x == 63:
                y[0] = x[threadIdx.x]
        else:
            y[0] = x[threadIdx.x]  # wrong

    return kernel


@mistake(BLOCK, Race, ramp(64), expected=backwards)
def reversed_in_place(right):
    """Each thread swaps two elements, and each pair is swapped twice."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        y[threadIdx.x] = x[threadIdx.x]
        syncthreads()
        i, j = threadIdx.x, 63 - threadIdx.x
        if i < (32 if right else 64):
            a, b = y[i], y[j]
            y[i] = b  # wrong
            y[j] = a

    return kernel


@mistake(GRID, Race, ramp(93), expected=lambda x: x + np.append(x[1:], x[:1] * 0))
def tiles_that_overlap(right):
    """Tiles of 32 begin every 31 elements: the last of each has no neighbour, and is the first of
    the next, which has."""

    @script
    def kernel(x: f32[93], y: f32[93]):
        attr.cuda_grid_dim = 3
        attr.cuda_block_dim = 32
        tile = shared_tensor("float32", [33])
        i = blockIdx.x * 31 + threadIdx.x
        tile[threadIdx.x] = x.get(i)
        if threadIdx.x == 0:
            tile[32] = 0
        syncthreads()
        if threadIdx.x < (31 if right else 32):
            y.put(i, tile[threadIdx.x] + tile[threadIdx.x + 1])  # wrong

    return kernel


@mistake(GRID, Race, ramp(4, 64), expected=lambda x: x.sum(0), start=0)
def blocks_add_without_atomics(right):
    @script
    def kernel(x: f32[4, 64], y: f32[64]):
        attr.cuda_grid_dim = 4
        attr.cuda_block_dim = 64
        if right:
            atomic_add(~y[threadIdx.x], x[blockIdx.x, threadIdx.x])
        else:
            y[threadIdx.x] += x[blockIdx.x, threadIdx.x]  # wrong

    return kernel


@mistake(GRID, Race, ramp(128), expected=lambda x: x + np.roll(x, -1))
def a_stencil_in_place(right):
    """The neighbour of a block's last element belongs to another block, which may be faster."""

    with script_module() as module:

        @script
        def copy(x: f32[128], field: f32[128]):
            attr.cuda_grid_dim = 4
            attr.cuda_block_dim = 32
            i = blockIdx.x * 32 + threadIdx.x
            field[i] = x[i]

        @script
        def step(field: f32[128], y: f32[128]):
            attr.cuda_grid_dim = 4
            attr.cuda_block_dim = 32
            i = blockIdx.x * 32 + threadIdx.x
            value = field[i] + field[(i + 1) % 128]  # other
            if right:
                y[i] = value
            else:
                syncthreads()
                field[i] = value  # wrong
                y[i] = value

        x, y = module.params(x=f32[128], y=f32[128])
        field = module.workspace(f32[128], "field")
        module.launch(copy, x, field)
        module.launch(step, field, y)
    return module


@mistake(
    GRID,
    Race,
    ramp(4, 32),
    np.zeros(1, np.int32),
    expected=lambda x, count: x.sum(0),
    says=r"reads what .* wrote",
)
def the_last_block_sums_without_a_fence(right):
    """The counter says that all blocks have written, not that what they wrote is visible: that
    takes fences of the same thread, one before the atomic and one after it."""
    with script_module() as module:

        @script
        def kernel(x: f32[4, 32], count: i32[1], rows: f32[4, 32], y: f32[32]):
            attr.cuda_grid_dim = 4
            attr.cuda_block_dim = 32
            iteration = shared_tensor("int32", [1])
            rows[blockIdx.x, threadIdx.x] = x[blockIdx.x, threadIdx.x]  # other
            syncthreads()
            if threadIdx.x == 0:
                if right:
                    threadfence()
                iteration[0] = atomic_add(~count[0], 1)
                if right:
                    threadfence()
            syncthreads()
            if iteration[0] == 3:
                total = x[0, 0]
                total = 0
                for row in range(4):
                    total += rows[row, threadIdx.x]  # wrong
                y[threadIdx.x] = total

        x, count, y = module.params(x=f32[4, 32], count=i32[1], y=f32[32])
        module.launch(kernel, x, count, module.workspace(f32[4, 32], "rows"), y)
    return module


@mistake(
    GRID,
    Race,
    ramp(1),
    np.zeros(1, np.int32),
    expected=lambda x, flag: np.full(2, x[0] + 1),
    says=r"reads what .* wrote",
)
def a_flag_raised_without_a_fence(right):
    with script_module() as module:

        @script
        def kernel(x: f32[1], flag: i32[1], parcel: f32[1], y: f32[2]):
            attr.cuda_grid_dim = 2
            attr.cuda_block_dim = 32
            if threadIdx.x == 0:
                if blockIdx.x == 0:
                    parcel[0] = x[0] + 1  # other
                    if right:
                        threadfence()
                    atomic_add(~flag[0], 1)
                    y[0] = x[0] + 1
                else:
                    while atomic_add(~flag[0], 0) == 0:
                        pass
                    if right:
                        threadfence()
                    y[1] = parcel[0]  # wrong

        x, flag, y = module.params(x=f32[1], flag=i32[1], y=f32[2])
        module.launch(kernel, x, flag, module.workspace(f32[1], "parcel"), y)
    return module
