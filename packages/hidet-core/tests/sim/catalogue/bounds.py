"""Accesses outside of a tensor, and vectors that do not lie on their width."""

import numpy as np

from catalogue.case import backwards, mistake, ramp, same
from hidet.ir.expr import Var
from hidet.lang import attr, cdiv, f32, i32, load, script, shared_tensor, store
from hidet.lang.cuda import blockIdx, cp_async, cp_async_wait_all, syncthreads, threadIdx
from hidet.sim import Misaligned, OutOfBounds

N = Var("n", i32)
BOUNDS, ALIGNMENT = "out-of-bounds access", "misaligned access"


@mistake(BOUNDS, OutOfBounds, ramp(64), expected=lambda x: np.append(x[1:], x[:1] * 0))
def the_neighbour_of_the_last(right):
    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        i = threadIdx.x
        if right:
            y[i] = x.get(i + 1)
        else:
            y[i] = x[i + 1]  # wrong

    return kernel


@mistake(BOUNDS, OutOfBounds, ramp(100), expected=same)
def ragged_last_tile(right):
    @script
    def kernel(x: f32[N], y: f32[N]):
        attr.cuda_grid_dim = cdiv(N, 32)
        attr.cuda_block_dim = 32
        i = blockIdx.x * 32 + threadIdx.x
        if right:
            y.put(i, x.get(i))
        else:
            y[i] = x.get(i)  # wrong

    return kernel


@mistake(BOUNDS, OutOfBounds, ramp(70), expected=same)
def ragged_last_vector(right):
    @script
    def kernel(x: f32[70], y: f32[70]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        width = 2 if right else 4
        i = threadIdx.x * width
        while i < 70:
            store(y, i, load(x, i, lanes=width))  # wrong
            i += 32 * width

    return kernel


@mistake(BOUNDS, OutOfBounds, ramp(66), expected=lambda x: x[:-2] + x[1:-1] + x[2:])
def halo_of_one_side(right):
    @script
    def kernel(x: f32[66], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [66 if right else 65])
        i = threadIdx.x
        tile[i] = x[i]
        if i < 2:
            tile[64 + i] = x[64 + i]  # wrong
        syncthreads()
        y[i] = tile[i] + tile[i + 1] + tile[i + 2]

    return kernel


@mistake(BOUNDS, OutOfBounds, ramp(8, 4), expected=lambda x: np.ascontiguousarray(x.T))
def transposed_within_the_allocation(right):
    """The element exists in memory, in another row: only the axis is left."""

    @script
    def kernel(x: f32[8, 4], y: f32[4, 8]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        i, j = threadIdx.x // 4, threadIdx.x % 4
        if right:
            y[j, i] = x[i, j]
        else:
            y[i % 4, i // 4 * 4 + j] = x[j, i]  # wrong

    return kernel


@mistake(BOUNDS, OutOfBounds, ramp(64), expected=lambda x: x[60 + np.arange(64) % 4])
def behind_a_pointer(right):
    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tail = ~x[60]
        count = 4 if right else 5
        y[threadIdx.x] = tail[threadIdx.x % count]  # wrong

    return kernel


@mistake(ALIGNMENT, Misaligned, ramp(68), expected=lambda x: x[4:])
def a_vector_that_begins_anywhere(right):
    @script
    def kernel(x: f32[68], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 16
        i = threadIdx.x * 4
        first = 4 if right else 3
        store(y, i, load(x, i + first, lanes=4))  # wrong

    return kernel


@mistake(ALIGNMENT, Misaligned, ramp(32, 32), expected=lambda x: np.ascontiguousarray(x.T))
def padding_that_breaks_vectors(right):
    """Rows of 33 elements avoid bank conflicts, and are no multiple of 16 bytes."""

    @script
    def kernel(x: f32[32, 32], y: f32[32, 32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 256
        tile = shared_tensor("float32", [32, 36 if right else 33])
        i, j = threadIdx.x // 8, threadIdx.x % 8 * 4
        store(tile, i, j, load(x, i, j, lanes=4))  # wrong
        syncthreads()
        for t in range(4):
            y[i, j + t] = tile[j + t, i]

    return kernel


@mistake(ALIGNMENT, Misaligned, ramp(8, 34), expected=lambda x: backwards(x[:, :32]))
def rows_that_no_longer_start_aligned(right):
    """Rows of 34 floats are aligned to 8 bytes, a copy of 16 bytes is not."""

    @script
    def kernel(x: f32[8, 34], y: f32[8, 32]):
        attr.cuda_grid_dim = 8
        attr.cuda_block_dim = 32
        tile = shared_tensor("float32", [32])
        i, j = blockIdx.x, threadIdx.x
        width = 2 if right else 4
        if j * width < 32:
            cp_async(~tile[j * width], ~x[i, j * width], width * 4)  # wrong
        cp_async_wait_all()
        syncthreads()
        y[i, j] = tile[31 - j]

    return kernel
