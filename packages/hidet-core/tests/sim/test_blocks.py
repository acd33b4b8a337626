"""Blocks that wait for each other, launch sizes, and memory that stays small."""

import numpy as np
import pytest

from hidet.errors import BadKernel
from hidet.ir.expr import Address, Builtin, Const, Load, Var, wrap
from hidet.ir.kernel import ONE, Kernel, KernelKind, Launch
from hidet.ir.stmt import Declare, If, Invoke, Store, While
from hidet.sim import Deadlock, Race, launch
from hidet.types import f32, i32

TX, BX = Builtin("threadIdx.x"), Builtin("blockIdx.x")
FENCE = Invoke("threadfence", (), (), ("gpu",))


def c(value):
    return Const(value, i32)


def chain(blocks, threads=32):
    """Block b waits until the one after it has passed its sum on, then adds its own number."""
    total, iteration, seen = Var("total", i32[1,]), Var("iteration", i32[1,]), Var("seen", i32)
    own = blocks - 1 - BX
    look = Invoke("atomic_add", (Address(iteration, (c(0),)), c(0)), (seen,))
    body = (
        If(
            TX.eq(0),
            (
                Declare(seen, c(-1)),
                While(seen.ne(own), (look,)),
                FENCE,
                Store(total, (c(0),), Load(total, (c(0),)) + BX),
                FENCE,
                Invoke("atomic_add", (Address(iteration, (c(0),)), c(1))),
            ),
        ),
        Invoke("syncthreads"),
    )
    sizes = (c(blocks), ONE, ONE), (c(threads), ONE, ONE)
    return Kernel("chain", (total, iteration), body, KernelKind.CUDA, Launch(*sizes))


def test_earlier_blocks_wait_for_later_ones():
    total, iteration = np.zeros(1, np.int32), np.zeros(1, np.int32)
    launch(chain(6), total, iteration)
    assert total[0] == 15
    assert iteration[0] == 6


def test_a_iteration_that_never_comes():
    with pytest.raises(Deadlock, match="what it looks at"):
        launch(chain(3), np.zeros(1, np.int32), np.full(1, 99, np.int32))


def test_three_dimensional_grids_and_blocks():
    names = [f"{what}.{axis}" for what in ("blockIdx", "threadIdx") for axis in "xyz"]
    y = Var("y", i32[2, 3, 4, 2, 3, 5])
    bx, by, bz, tx, ty, tz = map(Builtin, names)
    value = ((((bz * 3 + by) * 4 + bx) * 2 + tz) * 3 + ty) * 5 + tx
    body = (Store(y, (bz, by, bx, tz, ty, tx), value),)
    sizes = (c(4), c(3), c(2)), (c(5), c(3), c(2))
    out = np.zeros((2, 3, 4, 2, 3, 5), np.int32)
    launch(Kernel("numbers", (y,), body, KernelKind.CUDA, Launch(*sizes)), out)
    np.testing.assert_array_equal(out.reshape(-1), np.arange(out.size))


def test_many_batches_of_blocks():
    y = Var("y", f32[1 << 18,])
    sizes = (c(1 << 11), ONE, ONE), (c(128), ONE, ONE)
    body = (Store(y, (BX * 128 + TX,), wrap(1.0)),)
    out = np.zeros(1 << 18, np.float32)
    launch(Kernel("ones", (y,), body, KernelKind.CUDA, Launch(*sizes)), out)
    assert out.all()


def test_a_block_of_too_many_threads():
    sizes = (ONE, ONE, ONE), (c(64), c(32), ONE)
    with pytest.raises(BadKernel, match="2048 threads"):
        launch(Kernel("wide", (), (), KernelKind.CUDA, Launch(*sizes)))


ITERATIONS = """
    @script
    def kernel(x: f32[8, 64], y: f32[8, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 96
        ring = shared_tensor("float32", [2, 64])
        full = shared_tensor("uint64", [2])
        empty = shared_tensor("uint64", [2])
        order = shared_tensor("uint64", [2])
        if threadIdx.x == 0:
            for s in range(2):
                mbarrier_init(~order[s], 1)
                mbarrier_init(~full[s], 1)
                mbarrier_init(~empty[s], 1)
            fence_mbarrier_init()
        syncthreads()
        warp = threadIdx.x // 32
        if warp == 0:
            if threadIdx.x == 0:
                for i in range(8):
                    mbarrier_wait(~empty[i % 2], (i // 2 + 1) % 2)
                    mbarrier_arrive_expect_tx(~full[i % 2], 256)
                    cp_async_bulk_load(~ring[i % 2, 0], ~x[i, 0], 256, ~full[i % 2])
        else:
            t = threadIdx.x % 32
            w = warp - 1
            for iteration in range(2):
                mbarrier_wait(~order[w], (iteration + 1 - w) % 2)
                for k in range(2):
                    i = (iteration * 2 + w) * 2 + k
                    mbarrier_wait(~full[k], i // 2 % 2)
                    y[i, t] = ring[k, t] + 1.0
                    y[i, t + 32] = ring[k, t + 32] + 1.0
                    syncwarp()
                    if t == 0:
                        mbarrier_arrive(~empty[k])
                if t == 0:
                    mbarrier_arrive(~order[1 - w])
        syncthreads()
        z = y[7, threadIdx.x % 64]
"""
"""Two consumer warps run the same code, and take turns: when one waits, the other must go on."""


def test_warps_at_one_point_go_on_by_themselves(variant):
    x = np.random.default_rng(0).random((8, 64), np.float32)
    y = np.zeros_like(x)
    report = launch(variant(ITERATIONS), x, y)
    np.testing.assert_array_equal(y, x + 1)
    assert report.barriers == 2


def test_a_barrier_of_warps_in_several_simt_groups_orders(variant):
    x = np.random.default_rng(0).random((8, 64), np.float32)
    with pytest.raises(Race):
        launch(variant(ITERATIONS, {"syncthreads()\n    z": "z"}), x, np.zeros_like(x))


CHAIN = """
    @script
    def kernel(y: i32[4]):
        attr.cuda_grid_dim = 4
        attr.cuda_block_dim = 64
        bars = shared_tensor("uint64", [2])
        seen = shared_tensor("int32", [1])
        if threadIdx.x == 0:
            mbarrier_init(~bars[0], 1)
            mbarrier_init(~bars[1], 1)
        syncthreads()
        for i in range(6):
            if (i + blockIdx.x) % 2 == threadIdx.x // 32:
                if threadIdx.x % 32 == 0:
                    mbarrier_arrive(~bars[threadIdx.x // 32])
            else:
                mbarrier_wait(~bars[1 - threadIdx.x // 32], i // 2 % 2)
        if threadIdx.x == 0:
            y[blockIdx.x] = blockIdx.x + 1
"""


def test_blocks_of_one_simt_group_at_different_speeds(variant):
    y = np.zeros(4, np.int32)
    launch(variant(CHAIN), y)
    np.testing.assert_array_equal(y, [1, 2, 3, 4])
