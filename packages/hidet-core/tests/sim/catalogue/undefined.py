"""Reads of memory that nothing wrote: shared, local, fresh global."""

import numpy as np

from catalogue.case import backwards, mistake, ramp
from hidet.lang import attr, f32, register_tensor, script, script_module, shared_tensor
from hidet.lang.cuda import blockIdx, cp_async, cp_async_wait_all, syncthreads, threadIdx
from hidet.sim import Uninitialised

KIND = "read of memory nothing wrote"


@mistake(
    KIND, Uninitialised, ramp(50), expected=lambda x: np.append(np.zeros(14, x.dtype), x[::-1])
)
def the_rest_of_a_ragged_tile(right):
    @script
    def kernel(x: f32[50], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        if threadIdx.x < 50:
            tile[threadIdx.x] = x[threadIdx.x]
        else:
            if right:
                tile[threadIdx.x] = 0
        syncthreads()
        y[threadIdx.x] = tile[63 - threadIdx.x]  # wrong

    return kernel


@mistake(KIND, Uninitialised, ramp(4, 32), expected=lambda x: x.sum(0))
def sums_that_start_anywhere(right):
    @script
    def kernel(x: f32[4, 32], y: f32[32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        total = register_tensor("float32", [1])
        if right:
            total[0] = 0
        for i in range(4):
            total[0] += x[i, threadIdx.x]  # wrong
        y[threadIdx.x] = total[0]

    return kernel


@mistake(KIND, Uninitialised, ramp(4, 32), expected=lambda x: x.sum(0))
def partial_sums_never_cleared(right):
    """A workspace holds what its last user left there."""
    with script_module() as module:

        @script
        def add(x: f32[4, 32], sums: f32[32]):
            attr.cuda_grid_dim = 1
            attr.cuda_block_dim = 32
            if right:
                sums[threadIdx.x] = 0
            for i in range(4):
                sums[threadIdx.x] += x[i, threadIdx.x]  # wrong

        @script
        def copy(sums: f32[32], y: f32[32]):
            attr.cuda_grid_dim = 1
            attr.cuda_block_dim = 32
            y[threadIdx.x] = sums[threadIdx.x]

        x, y = module.params(x=f32[4, 32], y=f32[32])
        sums = module.workspace(f32[32], "sums")
        module.launch(add, x, sums)
        module.launch(copy, sums, y)
    return module


@mistake(KIND, Uninitialised, ramp(3, 32), expected=lambda x: np.append(x[::-1], x[:1] * 0, 0))
def one_block_too_few(right):
    """The first kernel leaves the last row of what the second reads."""
    blocks = 4 if right else 3
    with script_module() as module:

        @script
        def fill(x: f32[3, 32], rows: f32[4, 32]):
            attr.cuda_grid_dim = blocks
            attr.cuda_block_dim = 32
            rows[blockIdx.x, threadIdx.x] = x.get(2 - blockIdx.x, threadIdx.x)

        @script
        def copy(rows: f32[4, 32], y: f32[4, 32]):
            attr.cuda_grid_dim = 4
            attr.cuda_block_dim = 32
            y[blockIdx.x, threadIdx.x] = rows[blockIdx.x, threadIdx.x]  # wrong

        x, y = module.params(x=f32[3, 32], y=f32[4, 32])
        rows = module.workspace(f32[4, 32], "rows")
        module.launch(fill, x, rows)
        module.launch(copy, rows, y)
    return module


@mistake(KIND, Uninitialised, ramp(64), expected=backwards)
def a_copy_by_too_few_threads(right):
    """15 copies of 16 bytes are 60 elements."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        if threadIdx.x < (16 if right else 15):
            cp_async(~tile[threadIdx.x * 4], ~x[threadIdx.x * 4])
        cp_async_wait_all()
        syncthreads()
        y[threadIdx.x] = tile[63 - threadIdx.x]  # wrong

    return kernel
