"""Special registers."""

import numpy as np
import pytest

from hidet.lang import attr, i32, script, u32
from hidet.lang.cuda import (
    blockIdx,
    laneid,
    lanemask_eq,
    lanemask_ge,
    lanemask_gt,
    lanemask_le,
    lanemask_lt,
    nsmid,
    smid,
    threadIdx,
    warpid,
)


@pytest.mark.parametrize("shape", [(70, 1, 1), (5, 7, 3)])
def test_where_a_thread_is_in_its_block(run, shape):
    x, y, z = shape

    @script
    def kernel(lane: i32[x * y * z], warp: i32[x * y * z]):
        attr.cuda_block_dim = x, y, z
        t = threadIdx.x + x * (threadIdx.y + y * threadIdx.z)
        lane[t] = laneid
        warp[t] = warpid

    zeros = np.zeros(x * y * z, np.int32)
    lane, warp = run(kernel, zeros, zeros)
    assert lane.tolist() == [t % 32 for t in range(x * y * z)]
    assert warp.tolist() == [t // 32 for t in range(x * y * z)]


def test_lane_masks(run):
    @script
    def kernel(y: u32[5, 64]):
        attr.cuda_block_dim = 64
        y[0, threadIdx.x] = lanemask_eq
        y[1, threadIdx.x] = lanemask_lt >> 1
        y[2, threadIdx.x] = lanemask_le
        y[3, threadIdx.x] = lanemask_gt
        y[4, threadIdx.x] = lanemask_ge

    (y,) = run(kernel, np.zeros((5, 64), np.uint32))
    for t in range(64):
        own = 1 << t % 32
        below, above = own - 1, 2**32 - 2 * own
        assert y[:, t].tolist() == [own, below >> 1, below | own, above, above | own]


def test_multiprocessors(run):
    @script
    def kernel(y: i32[40]):
        attr.cuda_grid_dim = 40
        attr.cuda_block_dim = 1
        y[blockIdx.x] = i32(smid >= 0 and smid < nsmid)

    (y,) = run(kernel, np.zeros(40, np.int32))
    assert y.all()
