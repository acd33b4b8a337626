"""Warp-wide operations that some lanes do not reach, or whose mask names the wrong ones."""

import numpy as np

from catalogue.case import mistake, ramp
from hidet.errors import SimulationError
from hidet.lang import attr, f16, f32, register_tensor, script, shared_tensor
from hidet.lang.cuda import (
    ballot_sync,
    laneid,
    ldmatrix,
    mma_sync,
    shfl_down_sync,
    shfl_sync,
    shfl_xor_sync,
    syncthreads,
    syncwarp,
    threadIdx,
)
from hidet.sim import DivergentBarrier, InactiveLane

KIND = "collective executed by a diverged warp or with a wrong mask"


@mistake(KIND, InactiveLane, ramp(50), expected=lambda x: x.sum(keepdims=True))
def a_sum_of_the_threads_in_range(right):
    """The mask names lanes that went past the `if`."""

    @script
    def kernel(x: f32[50], y: f32[1]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        sums = shared_tensor("float32", [2])
        i = threadIdx.x
        if right:
            value = x.get(i)
            for step in range(5):
                value += shfl_xor_sync(0xFFFFFFFF, value, 16 >> step)
            if laneid == 0:
                sums[i // 32] = value
        else:
            if i < 50:
                value = x[i]
                for step in range(5):
                    value += shfl_xor_sync(0xFFFFFFFF, value, 16 >> step)  # wrong
                if laneid == 0:
                    sums[i // 32] = value
        syncthreads()
        if i == 0:
            y[0] = sums[0] + sums[1]

    return kernel


@mistake(KIND, InactiveLane, ramp(32), expected=lambda x: np.full(16, x[8]))
def a_source_that_takes_no_part(right):
    @script
    def kernel(x: f32[32], y: f32[16]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        if laneid < 16:
            y[laneid] = shfl_sync(0xFFFF, x[laneid], 8 if right else 24)  # wrong

    return kernel


@mistake(KIND, SimulationError, ramp(32), expected=lambda x: np.where(x < 16, x[3], x[19]))
def one_mask_for_both_branches(right):
    """The upper half of the warp uses the mask of the lower half."""

    @script
    def kernel(x: f32[32], y: f32[32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        if laneid < 16:
            y[laneid] = shfl_sync(0xFFFF, x[laneid], 3)
        else:
            mask = 0xFFFF0000 if right else 0xFFFF
            y[laneid] = shfl_sync(mask, x[laneid], 19)  # wrong

    return kernel


@mistake(KIND, InactiveLane, ramp(32), expected=lambda x: np.where(x % 3 == 0, x[0], -1))
def a_ballot_of_another_condition(right):
    """The lanes that go in are counted by a condition that is not quite the branch's."""

    @script
    def kernel(x: f32[32], y: f32[32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        inside = ballot_sync(0xFFFFFFFF, laneid % 3 == 0 if right else laneid % 3 <= 1)
        y[laneid] = -1
        if laneid % 3 == 0:
            y[laneid] = shfl_sync(inside, x[laneid], 0)  # wrong

    return kernel


@mistake(KIND, DivergentBarrier, ramp(32), expected=lambda x: np.append(x[1:16], x[15:]))
def syncwarp_in_a_branch(right):
    @script
    def kernel(x: f32[32], y: f32[32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        tile = shared_tensor("float32", [32])
        tile[laneid] = x[laneid]
        if right:
            syncwarp()
        if laneid < 15:
            if not right:
                syncwarp()  # wrong
            y[laneid] = tile[laneid + 1]
        else:
            y[laneid] = tile[laneid]

    return kernel


@mistake(KIND, DivergentBarrier, ramp(8, 8, of=np.float16), expected=lambda x: x.reshape(64))
def ldmatrix_by_the_lanes_with_an_address(right):
    """8 lanes give the addresses of an 8 × 8 matrix; all 32 receive it."""

    @script
    def kernel(x: f16[8, 8], y: f16[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        tile = shared_tensor("float16", [8, 8])
        own = register_tensor("float16", [2], 0)
        for t in range(2):
            tile[laneid // 4, laneid % 4 * 2 + t] = x[laneid // 4, laneid % 4 * 2 + t]
        syncwarp()
        if laneid < (32 if right else 8):
            ldmatrix(own, ~tile[laneid % 8, 0], 1)  # wrong
        for t in range(2):
            y[laneid * 2 + t] = own[t]

    return kernel


@mistake(
    KIND,
    DivergentBarrier,
    np.ones(5, np.float16),
    expected=lambda x: np.full(32, 16, np.float32),
)
def products_by_part_of_a_warp(right):
    """40 threads are one warp and a quarter."""

    @script
    def kernel(x: f16[5], y: f32[32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 40
        left = register_tensor("float16", [8], 1)
        upper = register_tensor("float16", [4], 1)
        sums = register_tensor("float32", [4], 0)
        left[0] = x[0]
        if threadIdx.x < (32 if right else 40):
            mma_sync(left, upper, sums)  # wrong
            y.put(threadIdx.x, sums[0])

    return kernel


@mistake(KIND, InactiveLane, ramp(32), expected=lambda x: x[:31] + x[1:])
def the_neighbour_has_left(right):
    """Lanes that returned take part in nothing any more."""

    @script
    def kernel(x: f32[32], y: f32[31]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        value = x[laneid]
        if right:
            value += shfl_down_sync(0xFFFFFFFF, value, 1)
        if laneid == 31:
            return
        if not right:
            value += shfl_down_sync(0xFFFFFFFF, value, 1)  # wrong
        y[laneid] = value

    return kernel
