"""Dependent launches that do not wait, and blocks that ask for more than there is."""

import numpy as np

from catalogue.case import mistake, ramp, same
from hidet.lang import attr, f32, register_tensor, script, script_module, shared_tensor
from hidet.lang.cuda import (
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    syncthreads,
    threadIdx,
)
from hidet.sim import MissingGridWait, ResourceOveruse

GRID = "missing griddepcontrol.wait before the first dependent read"
SHARED, REGISTERS = "too much shared memory", "registers beyond the launch bound"


@mistake(GRID, MissingGridWait, ramp(64), expected=lambda x: x[::-1] + 1)
def read_before_the_grid_before_is_complete(right):
    with script_module() as module:

        @script
        def first(x: f32[64], between: f32[64]):
            attr.cuda_grid_dim = 1
            attr.cuda_block_dim = 64
            griddepcontrol_launch_dependents()
            between[threadIdx.x] = x[threadIdx.x] + 1

        @script
        def second(between: f32[64], y: f32[64]):
            attr.cuda_grid_dim = 1
            attr.cuda_block_dim = 64
            if right:
                griddepcontrol_wait()
            y[threadIdx.x] = between[63 - threadIdx.x]  # wrong
            if not right:
                griddepcontrol_wait()

        x, y = module.params(x=f32[64], y=f32[64])
        between = module.workspace(f32[64], "between")
        module.launch(first, x, between)
        module.launch(second, between, y)
    return module


@mistake(GRID, MissingGridWait, ramp(64), expected=lambda x: x * 2)
def written_while_the_grid_before_reads(right):
    """What an earlier kernel still reads may not be written, either."""
    with script_module() as module:

        @script
        def first(x: f32[64], y: f32[64]):
            attr.cuda_grid_dim = 1
            attr.cuda_block_dim = 64
            griddepcontrol_launch_dependents()
            y[threadIdx.x] = x[threadIdx.x]

        @script
        def second(y: f32[64], scratch: f32[64]):
            attr.cuda_grid_dim = 1
            attr.cuda_block_dim = 64
            griddepcontrol_launch_dependents()
            griddepcontrol_wait()
            scratch[threadIdx.x] = y[threadIdx.x] * 2

        @script
        def third(scratch: f32[64], y: f32[64]):
            attr.cuda_grid_dim = 1
            attr.cuda_block_dim = 64
            if not right:
                y[threadIdx.x] = 0  # wrong
            griddepcontrol_wait()
            y[threadIdx.x] = scratch[threadIdx.x]

        x, y = module.params(x=f32[64], y=f32[64])
        scratch = module.workspace(f32[64], "scratch")
        module.launch(first, x, y)
        module.launch(second, y, scratch)
        module.launch(third, scratch, y)
    return module


@mistake(SHARED, ResourceOveruse, ramp(64), expected=same)
def one_stage_too_many(right):
    """Four stages of 64 KiB are 256; a block may have 227."""
    stages = 3 if right else 4

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        ring = shared_tensor("float32", [stages, 16384])  # wrong
        for stage in range(stages):
            ring[stage, threadIdx.x] = x[threadIdx.x]
        syncthreads()
        y[threadIdx.x] = ring[stages - 1, threadIdx.x]

    return kernel


@mistake(SHARED, ResourceOveruse, ramp(64), expected=same)
def a_second_buffer_that_does_not_fit(right):
    size = 8192 if right else 32768

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        one = shared_tensor("float32", [32768])
        one[threadIdx.x] = x[threadIdx.x]
        other = shared_tensor("float32", [size])  # wrong
        other[threadIdx.x] = one[threadIdx.x]
        y[threadIdx.x] = other[threadIdx.x] + one[threadIdx.x] - x[threadIdx.x]

    return kernel


@mistake(REGISTERS, ResourceOveruse, ramp(64), expected=lambda x: np.full(1024, x.sum(), x.dtype))
def sums_for_too_many_threads(right):
    """1024 threads have 64 registers each, whatever the tile wants."""
    width = 16 if right else 128

    @script
    def kernel(x: f32[64], y: f32[1024]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 1024
        sums = register_tensor("float32", [width], 0)  # wrong
        for i in range(64):
            sums[i % width] += x[i]
        total = sums[0]
        for i in range(1, width):
            total += sums[i]
        y[threadIdx.x] = total

    return kernel


@mistake(REGISTERS, ResourceOveruse, ramp(64), expected=lambda x: np.full(256, x.sum(), x.dtype))
def two_blocks_where_one_fits(right):
    """Two blocks on a multiprocessor leave each thread of 256 half of its registers."""

    @script
    def kernel(x: f32[64], y: f32[256]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 256
        attr.cuda_min_blocks = 1 if right else 2
        sums = register_tensor("float32", [192], 0)  # wrong
        for i in range(64):
            sums[i * 3] += x[i]
        total = sums[0]
        for i in range(1, 192):
            total += sums[i]
        y[threadIdx.x] = total

    return kernel
