"""Kernels around TMA that run alike in the simulator and on a GPU."""

from math import prod

import numpy as np

from hidet.ir.expr import Var
from hidet.lang import attr, f16, i32, script, shared_tensor, static, u64
from hidet.lang.cuda import (
    barrier_sync,
    blockIdx,
    cp_async_bulk_commit_group,
    cp_async_bulk_wait_group,
    fence_mbarrier_init,
    fence_proxy_async,
    im2col_map,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    syncthreads,
    syncwarp,
    tensor_map,
    threadIdx,
    tma_load,
    tma_prefetch,
    tma_prefetch_map,
    tma_reduce,
    tma_store,
)
from hidet.types import Im2col, TensorMapType, Tile

THREADS = 64


def tile(dtype, *sizes, steps=None, **form):
    """The type of a tiled map."""
    return TensorMapType(dtype, Tile(sizes, steps or (1,) * len(sizes)), **form)


def images(dtype, pixels, channels, lower, upper, steps=None, **form):
    """The type of an im2col map."""
    apart = steps or (1,) * len(lower)
    return TensorMapType(dtype, Im2col(pixels, channels, lower, upper, apart), **form)


def mapped(of, x):
    """The tensor map of a type, in a script."""
    form = {"swizzle": of.swizzle, "promotion": of.promotion, "fill": of.fill}
    box = of.box
    if isinstance(box, Tile):
        return tensor_map(x, box.sizes, steps=box.steps, **form)
    return im2col_map(x, box.pixels, box.channels, box.lower, box.upper, steps=box.steps, **form)


def elements(of):
    """Elements of a box, and those of the shared memory for one: whole periods of a swizzle."""
    return prod(of.shape), -(-of.nbytes // 1024) * 1024 // of.dtype.nbytes


def loads(of, positions, offsets=(), cache=None):
    """Load boxes one after the other and write out the bytes that arrived, in their order."""
    count, held = elements(of)
    sizes = tuple(Var(f"n{axis}", i32) for axis in range(of.rank))

    @script
    def kernel(x: of.dtype[sizes], y: of.dtype[len(positions), count]):
        attr.func_name = "loads"
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = THREADS
        tiles = mapped(of, x)
        box = shared_tensor(of.dtype, held)
        bar = shared_tensor(u64, 1)
        if threadIdx.x == 0:
            tma_prefetch_map(tiles)
            mbarrier_init(bar, 1)
            fence_mbarrier_init()
        syncthreads()
        for iteration, position in static(list(enumerate(positions))):
            if threadIdx.x == 0:
                tma_prefetch(tiles, position, offsets=offsets)
                mbarrier_arrive_expect_tx(bar, of.nbytes)
                tma_load(box, tiles, position, bar, offsets=offsets, cache=cache)
            mbarrier_wait(bar, iteration % 2)
            for i in range((count + THREADS - 1) // THREADS):
                if i * THREADS + threadIdx.x < count:
                    y[iteration, i * THREADS + threadIdx.x] = box[i * THREADS + threadIdx.x]
            syncthreads()

    return kernel.ir_module()


def stores(of, positions, how=None, cache=None):
    """Write boxes given as the bytes of shared memory, each at its position, or combine them."""
    count, held = elements(of)
    sizes = tuple(Var(f"n{axis}", i32) for axis in range(of.rank))

    @script
    def kernel(x: of.dtype[len(positions), count], y: of.dtype[sizes]):
        attr.func_name = "stores"
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = THREADS
        tiles = mapped(of, y)
        box = shared_tensor(of.dtype, held)
        for iteration, position in static(list(enumerate(positions))):
            for i in range((count + THREADS - 1) // THREADS):
                if i * THREADS + threadIdx.x < count:
                    box[i * THREADS + threadIdx.x] = x[iteration, i * THREADS + threadIdx.x]
            fence_proxy_async("shared::cta")
            syncthreads()
            if threadIdx.x == 0:
                if how is None:
                    tma_store(tiles, position, box, cache=cache)
                else:
                    tma_reduce(tiles, position, box, how, cache=cache)
                cp_async_bulk_commit_group()
                cp_async_bulk_wait_group(0)
            syncthreads()

    return kernel.ir_module()


@script
def prepare(full, empty, stages):
    """A pair of barriers for each stage: filled by one arrival, emptied by two warps."""
    if threadIdx.x == 0:
        for stage in range(stages):
            mbarrier_init(~full[stage], 1)
            mbarrier_init(~empty[stage], 2)
        fence_mbarrier_init()
    syncthreads()


def pipeline(rows=64, width=64, stages=4):
    """y = 2 x by blocks that each walk along a row of tiles.

    A producer warp loads through a ring of stages, two consumer warps compute into two buffers in
    iteration, and one of their threads stores these.
    """
    m, n = Var("m", i32), Var("n", i32)
    each = rows * width // 64

    @script
    def double(x: f16[m, n], y: f16[m, n]):
        attr.func_name = "pipeline"
        attr.cuda_grid_dim = (m + rows - 1) // rows
        attr.cuda_block_dim = 96
        source = tensor_map(x, (rows, width), swizzle="128B")
        result = tensor_map(y, (rows, width), swizzle="128B")
        ring = shared_tensor(f16, (stages, rows * width))
        out = shared_tensor(f16, (2, rows * width))
        full = shared_tensor(u64, stages)
        empty = shared_tensor(u64, stages)
        iterations = (n + width - 1) // width
        row = blockIdx.x * rows
        prepare(full, empty, stages)
        if threadIdx.x < 32:
            if threadIdx.x == 0:
                for iteration in range(iterations):
                    stage = iteration % stages
                    mbarrier_wait(~empty[stage], (iteration // stages + 1) % 2)
                    mbarrier_arrive_expect_tx(~full[stage], rows * width * 2)
                    tma_load(
                        ~ring[stage, 0], source, (row, iteration * width), ~full[stage],
                        cache="evict_first",
                    )  # fmt: skip
        else:
            thread = threadIdx.x - 32
            for iteration in range(iterations):
                stage = iteration % stages
                mbarrier_wait(~full[stage], iteration // stages % 2)
                if thread == 0:
                    cp_async_bulk_wait_group(1, read=True)
                barrier_sync(1, 64)
                for i in range(each):
                    at = i * 64 + thread
                    out[iteration % 2, at] = ring[stage, at] * 2.0
                syncwarp()
                if thread % 32 == 0:
                    mbarrier_arrive(~empty[stage])
                fence_proxy_async("shared::cta")
                barrier_sync(1, 64)
                if thread == 0:
                    tma_store(result, (row, iteration * width), ~out[iteration % 2, 0])
                    cp_async_bulk_commit_group()
            if thread == 0:
                cp_async_bulk_wait_group(0)

    return double.ir_module()


def numbers(shape, of, seed=0, high=100):
    """Whole numbers, small enough for sums to be exact at any type."""
    return np.random.default_rng(seed).integers(1, high, shape).astype(of.numpy)
