"""What a kernel may do wrong around TMA: each mistake caught at its line, its twin passes."""

import numpy as np
import pytest

from hidet.build.launches import sized
from hidet.build.reports.record import lowered
from hidet.errors import BadTensorMap, SimulationError
from hidet.ir.expr import Var
from hidet.lang import attr, f16, i32, script, shared_tensor, u64
from hidet.lang.cuda import (
    blockIdx,
    cp_async_bulk_commit_group,
    cp_async_bulk_wait_group,
    fence_mbarrier_init,
    fence_proxy_async,
    im2col_map,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    syncthreads,
    tensor_map,
    threadIdx,
    tma_load,
    tma_reduce,
    tma_store,
)
from hidet.sim import Misaligned, MissingFence, MissingWait, OutOfBounds, launch

M, N = Var("m", i32), Var("n", i32)


def load(
    box=(8, 64), at=(0, 0), start=0, size=512, nbytes=None, swizzle="none", wait=True, fence=True,
    threads=1, multicast=None,
):  # fmt: skip
    """A kernel that loads one box and reads its first element; keywords make mistakes."""
    bytes_ = box[0] * box[1] * 2 if nbytes is None else nbytes

    @script
    def kernel(x: f16[M, N], y: f16[1]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        tiles = tensor_map(x, box, swizzle=swizzle)
        tile = shared_tensor(f16, size)
        bar = shared_tensor(u64, 1)
        if threadIdx.x == 0:
            mbarrier_init(bar, 1)
            if fence:
                fence_mbarrier_init()
        syncthreads()
        if threadIdx.x == 0:
            mbarrier_arrive_expect_tx(bar, bytes_)
        if threadIdx.x < threads:
            tma_load(~tile[start], tiles, at, bar, multicast=multicast)
        if wait:
            mbarrier_wait(bar, 0)
        if threadIdx.x == 0:
            y[0] = tile[start]

    return kernel.ir_module()


def run_load(module, shape=(16, 64)):
    x, y = np.ones(shape, np.float16), np.zeros(1, np.float16)
    launch(module, x, y)
    return float(y[0])


def test_the_right_loads_pass():
    assert run_load(load()) == 1
    assert run_load(load(at=(-1, 0))) == 0
    assert run_load(load(start=64, size=576)) == 1
    assert run_load(load(swizzle="128B", start=192, size=1024)) == 1
    assert run_load(load(multicast=1)) == 1  # a block alone is a cluster


@pytest.mark.parametrize(
    ("mistake", "kind", "message"),
    [
        ({"start": 8, "size": 520}, Misaligned, "tile.8. is not aligned to 128 bytes"),
        ({"size": 511}, OutOfBounds, "a TMA load touches 16 at byte 1008"),
        ({"swizzle": "128B", "box": (3, 64), "size": 192}, Misaligned, "repeats every 1024 bytes"),
        ({"swizzle": "64B", "box": (4, 32), "size": 128}, Misaligned, "repeats every 512 bytes"),
        ({"wait": False}, MissingWait, "tile"),
        ({"multicast": 3}, SimulationError, "mask of blocks is 0x3; the cluster has 1"),
        ({"multicast": 0}, SimulationError, "mask of blocks is 0x0; the cluster has 1"),
        ({"fence": False}, MissingFence, "mbarrier"),
        ({"nbytes": 1008}, SimulationError, "bytes"),
        ({"nbytes": 1040}, SimulationError, "16 bytes are missing"),
        ({"threads": 2}, SimulationError, "writes what a TMA load of"),
    ],
)
def test_wrong_loads(mistake, kind, message):
    with pytest.raises(kind, match=message) as caught:
        run_load(load(**mistake))
    assert caught.value.place.file.endswith("test_tma_errors.py")


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((16, 9), "multiples of 16 below"),
        ((16, 0), "sizes from 1 to"),
        ((0, 64), "sizes from 1 to"),
    ],
)
def test_tensors_that_have_no_map(shape, message):
    module = load()
    with pytest.raises(BadTensorMap, match=message):
        run_load(module, shape)
    (kernel,) = module.kernels
    x, y = module.params
    with pytest.raises(BadTensorMap, match=message):
        sized(module, {"kernel": lowered(kernel, "kernel")}, {x: shape, y: (1,)})


def store(fence=True, commit=True, wait="done", again=False, blocks=1, how=None):
    """A kernel of which each block stores one box; keywords make mistakes."""

    @script
    def kernel(y: f16[M, N]):
        attr.cuda_grid_dim = blocks
        attr.cuda_block_dim = 64
        tiles = tensor_map(y, (8, 8))
        tile = shared_tensor(f16, (8, 8))
        tile[threadIdx.x // 8, threadIdx.x % 8] = 1.0
        if fence:
            fence_proxy_async("shared::cta")
        syncthreads()
        if threadIdx.x == 0:
            if how is None:
                tma_store(tiles, (blockIdx.x // 2 * 8, 0), tile)
            else:
                tma_reduce(tiles, (blockIdx.x // 2 * 8, 0), tile, how)
            if commit:
                cp_async_bulk_commit_group()
            if wait == "read":
                cp_async_bulk_wait_group(0, read=True)
            if wait == "done":
                cp_async_bulk_wait_group(0)
            if again:
                tile[0, 0] = 2.0

    return kernel.ir_module()


def run_store(module, rows=8):
    y = np.zeros((rows, 8), np.float16)
    launch(module, y)
    return y


def test_the_right_stores_pass():
    assert (run_store(store()) == 1).all()
    assert (run_store(store(wait="read", again=True)) == 1).all()
    assert (run_store(store(blocks=1), 7) == 1).all()
    assert (run_store(store(blocks=4, how="add"), 16) == 2).all()


@pytest.mark.parametrize(
    ("mistake", "kind"),
    [
        ({"fence": False}, MissingFence),
        ({"wait": "never", "again": True}, MissingWait),
        ({"commit": False, "again": True}, MissingWait),
        ({"blocks": 2}, SimulationError),
    ],
)
def test_wrong_stores(mistake, kind):
    with pytest.raises(kind) as caught:
        run_store(store(**mistake))
    assert caught.value.place.file.endswith("test_tma_errors.py")


@pytest.mark.parametrize(
    ("at", "offsets", "message"),
    [
        ((0, 4, 0, 0), (0, 0), r"outside of the corners: .* from \(-1, -1\) to \(3, 3\)"),
        ((0, 0, -2, 0), (0, 0), "outside of the corners"),
        ((0, 0, 0, 0), (0, 256), "offsets are from 0 to 255"),
        ((0, 0, 0, 0), (-1, 0), "offsets are from 0 to 255"),
    ],
)
def test_wrong_positions_of_a_filter(at, offsets, message):
    @script
    def kernel(x: f16[2, 4, 4, 8]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        tiles = im2col_map(x, 8, 8, (-1, -1), (0, 0))
        tile = shared_tensor(f16, (8, 8))
        bar = shared_tensor(u64, 1)
        if threadIdx.x == 0:
            mbarrier_init(bar, 1)
            fence_mbarrier_init()
            tma_load(tile, tiles, at, bar, offsets=offsets)

    with pytest.raises(SimulationError, match=message):
        launch(kernel.ir_module(), np.zeros((2, 4, 4, 8), np.float16))
