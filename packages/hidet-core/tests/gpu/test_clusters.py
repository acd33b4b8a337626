"""mbarriers, bulk copies and clusters: the simulator and the GPU agree bit for bit."""

import numpy as np
import pytest
from cluster_kernels import SHARED_TILES, STORED
from written import written

from hidet.lang import attr, f16, f32, i32, script, shared_tensor
from hidet.lang.cuda import (
    atomic_add,
    blockIdx,
    cluster_arrive,
    cluster_sync,
    cluster_wait,
    clusterBlockIdx,
    clusterDim,
    clusterIdx,
    clusterRank,
    cp_async,
    cp_async_bulk_commit_group,
    cp_async_bulk_load,
    cp_async_bulk_prefetch,
    cp_async_bulk_reduce,
    cp_async_bulk_send,
    cp_async_bulk_send_reduce,
    cp_async_bulk_store,
    cp_async_bulk_wait_group,
    cp_async_mbarrier_arrive,
    cp_async_mbarrier_arrive_noinc,
    fence_mbarrier_init,
    fence_proxy_async,
    mapa,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx_cluster,
    mbarrier_expect_tx,
    mbarrier_init,
    mbarrier_inval,
    mbarrier_test_wait,
    mbarrier_try_wait,
    mbarrier_wait,
    mbarrier_wait_state,
    syncthreads,
    threadIdx,
)
from hidet.types import u64


def numbers(*shape):
    return np.random.default_rng(0).integers(-999, 999, shape, np.int32)


stored = written(STORED)


@script
def meeting(x: i32[2, 64], y: i32[2, 64]):
    """Threads hand over by an mbarrier, waiting in each way there is."""
    attr.cuda_grid_dim = 2
    attr.cuda_block_dim = 64
    tile = shared_tensor(i32, 64)
    bar = shared_tensor(u64, 1)
    t = threadIdx.x
    if t == 0:
        mbarrier_init(~bar[0], 64)
    syncthreads()
    tile[t] = x[blockIdx.x, t]
    state = mbarrier_arrive(~bar[0])
    mbarrier_wait_state(~bar[0], state)
    value = tile[63 - t]
    mbarrier_arrive(~bar[0])
    done = mbarrier_try_wait(~bar[0], 1)
    while not done:
        done = mbarrier_try_wait(~bar[0], 1)
    tile[t] = value * 3
    mbarrier_arrive(~bar[0])
    done = mbarrier_test_wait(~bar[0], 0)
    while not done:
        done = mbarrier_test_wait(~bar[0], 0)
    y[blockIdx.x, t] = tile[(t + 1) % 64]
    syncthreads()
    if t == 0:
        mbarrier_inval(~bar[0])


def test_mbarriers(run):
    x = numbers(2, 64)
    _, y = run(meeting, x, np.zeros_like(x))
    np.testing.assert_array_equal(y, np.roll(x[:, ::-1] * 3, -1, axis=1))


@script
def copied(x: f32[2, 64], y: f32[2, 64]):
    """Bulk copies in and out, with hints; bytes are expected apart from the arrival."""
    attr.cuda_grid_dim = 2
    attr.cuda_block_dim = 64
    tile = shared_tensor(f32, 64)
    bar = shared_tensor(u64, 1)
    t = threadIdx.x
    if t == 0:
        mbarrier_init(~bar[0], 1)
        fence_mbarrier_init()
        cp_async_bulk_prefetch(~x[blockIdx.x, 0], 256)
        mbarrier_expect_tx(~bar[0], 256)
        cp_async_bulk_load(~tile[0], ~x[blockIdx.x, 0], 128, ~bar[0], cache="evict_first")
        cp_async_bulk_load(~tile[32], ~x[blockIdx.x, 32], 128, ~bar[0])
        mbarrier_arrive(~bar[0])
    syncthreads()
    mbarrier_wait(~bar[0], 0)
    tile[t] = tile[t] * 2.0
    fence_proxy_async("shared::cta")
    syncthreads()
    if t == 0:
        cp_async_bulk_store(~y[blockIdx.x, 0], ~tile[0], 256, cache="evict_last")
        cp_async_bulk_commit_group()
        cp_async_bulk_wait_group(0)


def test_bulk_copies(run):
    x = np.random.default_rng(0).standard_normal((2, 64)).astype(np.float32)
    _, y = run(copied, x, np.zeros_like(x))
    np.testing.assert_array_equal(y, x * 2)


def pieces(counted):
    @script
    def kernel(x: i32[6, 64], y: i32[6, 64]) -> None:
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 96
        ring = shared_tensor(i32, (2, 64))
        full, empty = shared_tensor(u64, 2), shared_tensor(u64, 2)
        t = threadIdx.x
        if t == 0:
            for s in range(2):
                mbarrier_init(~full[s], 16)
                mbarrier_init(~empty[s], 64)
        syncthreads()
        if t >= 64:
            if t < 80:
                for k in range(3):
                    mbarrier_wait(~empty[k % 2], (k // 2 + 1) % 2)
                    cp_async(~ring[k % 2, (t - 64) * 4], ~x[blockIdx.x * 3 + k, (t - 64) * 4])
                    if counted:
                        cp_async_mbarrier_arrive(~full[k % 2])
                        mbarrier_arrive(~full[k % 2])
                    else:
                        cp_async_mbarrier_arrive_noinc(~full[k % 2])
        else:
            for k in range(3):
                mbarrier_wait(~full[k % 2], k // 2 % 2)
                y[blockIdx.x * 3 + k, t] = ring[k % 2, 63 - t]
                mbarrier_arrive(~empty[k % 2])

    return kernel


@pytest.mark.parametrize("counted", [False, True])
def test_copies_of_threads_at_an_mbarrier(counted, run):
    x = numbers(6, 64)
    _, y = run(pieces(counted), x, np.zeros_like(x))
    np.testing.assert_array_equal(y, x[:, ::-1])


def reduced(of, how):
    @script
    def kernel(x: of[4, 64], y: of[64]) -> None:
        attr.cuda_grid_dim = 4
        attr.cuda_block_dim = 64
        tile = shared_tensor(of, 64)
        tile[threadIdx.x] = x[blockIdx.x, threadIdx.x]
        fence_proxy_async("shared::cta")
        syncthreads()
        if threadIdx.x == 0:
            cp_async_bulk_reduce(~y[0], ~tile[0], 64 * of.nbytes, how, cache="evict_last")
            cp_async_bulk_commit_group()
            cp_async_bulk_wait_group(0, read=True)

    return kernel


@pytest.mark.parametrize(
    ("of", "how"), [(i32, "add"), (i32, "max"), (i32, "xor"), (f32, "add"), (f16, "min")]
)
def test_bulk_reductions(of, how, run):
    x = numbers(4, 64).astype(of.numpy)
    y = numbers(64).astype(of.numpy)
    apply = {"add": np.add, "max": np.maximum, "min": np.minimum, "xor": np.bitwise_xor}[how]
    _, found = run(reduced(of, how), x, y)
    np.testing.assert_array_equal(found, apply(apply.reduce(x), y))


@script
def exchanged(x: i32[8, 32], y: i32[8, 32], where: i32[8, 4]):
    """Blocks of a cluster read each other's shared memory."""
    attr.cuda_grid_dim = 8
    attr.cuda_block_dim = 32
    attr.cuda_cluster_dim = 4
    tile = shared_tensor(i32, 32)
    t = threadIdx.x
    if t == 0:
        where[blockIdx.x, 0] = clusterRank
        where[blockIdx.x, 1] = clusterIdx.x
        where[blockIdx.x, 2] = clusterBlockIdx.x
        where[blockIdx.x, 3] = clusterDim.x
    tile[t] = x[blockIdx.x, t]
    cluster_arrive()
    cluster_wait()
    there = mapa(~tile[0], (clusterRank + 1) % 4)
    y[blockIdx.x, t] = there[31 - t]
    cluster_sync()


def test_shared_memory_of_other_blocks(run):
    x = numbers(8, 32)
    _, y, where = run(exchanged, x, np.zeros_like(x), np.zeros((8, 4), np.int32))
    np.testing.assert_array_equal(y, x[[1, 2, 3, 0, 5, 6, 7, 4], ::-1])
    block = np.arange(8)
    expected = np.stack([block % 4, block // 4, block % 4, np.full(8, 4)], axis=1)
    np.testing.assert_array_equal(where, expected)


@script
def counted(x: i32[4, 64], y: i32[16]):
    """A histogram that the blocks of a cluster hold together."""
    attr.cuda_grid_dim = 4
    attr.cuda_block_dim = 64
    attr.cuda_cluster_dim = 4
    bins = shared_tensor(i32, 4)
    if threadIdx.x < 4:
        bins[threadIdx.x] = 0
    cluster_sync()
    bin = x[blockIdx.x, threadIdx.x]
    there = mapa(~bins[0], bin // 4)
    atomic_add(~there[bin % 4], 1)
    cluster_sync()
    if threadIdx.x < 4:
        y[clusterRank * 4 + threadIdx.x] = bins[threadIdx.x]


def test_atomics_on_other_blocks(run):
    x = numbers(4, 64) % 16
    _, y = run(counted, x, np.zeros(16, np.int32))
    np.testing.assert_array_equal(y, np.bincount(x.reshape(-1), minlength=16))


RELAXED = "syncwarp()\n    cluster_arrive(relaxed=True)\n    cluster_wait()\n    if threadIdx"
multicast = written(SHARED_TILES, {"cluster_sync()\n    if threadIdx": RELAXED})


def test_multicast(run):
    x = np.random.default_rng(0).standard_normal((5, 64)).astype(np.float32)
    _, y = run(multicast, x, np.zeros((2, 5, 64), np.float32))
    np.testing.assert_array_equal(y, np.stack([x + 1, x + 1]))


def sent(how):
    @script
    def kernel(x: i32[2, 64], y: i32[2, 64]) -> None:
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 64
        attr.cuda_cluster_dim = 2
        tile, sums, full = shared_tensor(i32, 64), shared_tensor(i32, 64), shared_tensor(u64, 1)
        t = threadIdx.x
        tile[t] = x[blockIdx.x, t]
        sums[t] = 100
        if t == 0:
            mbarrier_init(~full[0], 1)
            fence_mbarrier_init()
        fence_proxy_async("shared::cta")
        cluster_sync()
        if t == 0:
            other = 1 - clusterRank
            mbarrier_arrive_expect_tx_cluster(~full[0], other, 256)
            if how == "copy":
                cp_async_bulk_send(~sums[0], ~tile[0], 256, ~full[0], other)
            else:
                cp_async_bulk_send_reduce(~sums[0], ~tile[0], 256, ~full[0], other, how)
        mbarrier_wait(~full[0], 0)
        y[blockIdx.x, t] = sums[t]
        cluster_sync()

    return kernel


@pytest.mark.parametrize("how", ["copy", "add", "max", "xor"])
def test_copies_between_blocks(how, run):
    x = numbers(2, 64)
    _, y = run(sent(how), x, np.zeros_like(x))
    other = x[::-1]
    expected = {"copy": other, "add": other + 100, "max": np.maximum(other, 100)}
    np.testing.assert_array_equal(y, expected.get(how, other ^ 100))
