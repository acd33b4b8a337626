"""A producer and two consumers: bulk copies fill a ring, warpgroups multiply what is there.

The operands lie in global memory as their tiles do in shared memory, so that one bulk copy brings
a tile. Tiles of the result are taken in turn by all blocks.
"""

import numpy as np
import pytest

from hidet.lang import attr, f32, register_tensor, script, shared_tensor, static
from hidet.lang.cuda import (
    blockIdx,
    cp_async_bulk_load,
    fence_mbarrier_init,
    gridDim,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    setmaxnreg_dec,
    setmaxnreg_inc,
    syncthreads,
    threadIdx,
    wgmma,
    wgmma_commit_group,
    wgmma_descriptor,
    wgmma_fence,
    wgmma_layout,
    wgmma_wait_group,
)
from hidet.mapping.fragments import wgmma_c
from hidet.passes.pipeline import lower
from hidet.sim import MissingWait
from hidet.testing.as_meant import as_meant
from hidet.types import f16, u64

ROWS, COLUMNS, DEPTH, STAGES, BLOCKS = 128, 64, 64, 4, 2
A_BYTES, B_BYTES = ROWS * DEPTH * 2, COLUMNS * DEPTH * 2


@script
def produce(a, b, tile_a, tile_b, full, empty, tiles, iterations):
    count = 0
    for tile in range(blockIdx.x, tiles, gridDim.x):
        for iteration in range(iterations):
            stage = count % STAGES
            mbarrier_wait(~empty[stage], (count // STAGES + 1) % 2)
            mbarrier_arrive_expect_tx(~full[stage], A_BYTES + B_BYTES)
            into_a, into_b = ~tile_a[stage, 0, 0], ~tile_b[stage, 0, 0]
            cp_async_bulk_load(into_a, ~a[tile, iteration, 0], A_BYTES, ~full[stage])
            cp_async_bulk_load(into_b, ~b[iteration, 0], B_BYTES, ~full[stage])
            count += 1


@script
def consume(c, tile_a, tile_b, full, empty, part, tiles, iterations, behind):
    count = 0
    thread = threadIdx.x % 128
    sums, at = register_tensor(f32, COLUMNS // 2), wgmma_c(COLUMNS)
    for tile in range(blockIdx.x, tiles, gridDim.x):
        for v in static(range(COLUMNS // 2)):
            sums[v] = 0.0
        wgmma_fence(sums)
        for iteration in range(iterations):
            stage = count % STAGES
            mbarrier_wait(~full[stage], count // STAGES % 2)
            left = wgmma_descriptor(~tile_a[stage, part * 64, 0])
            right = wgmma_descriptor(~tile_b[stage, 0, 0])
            wgmma_fence()
            for deep in static(range(DEPTH // 16)):
                wgmma(left.advance(32 * deep), right.advance(32 * deep), sums, "m64n64k16")
            wgmma_commit_group()
            # The products of the iteration before are done: its tiles may be filled again.
            wgmma_wait_group(1)
            if iteration >= behind and threadIdx.x % 32 == 0:
                mbarrier_arrive(~empty[(count + STAGES - behind) % STAGES])
            count += 1
        wgmma_wait_group(0, sums)
        if behind > 0 and threadIdx.x % 32 == 0:
            mbarrier_arrive(~empty[(count + STAGES - 1) % STAGES])
        for v in static(range(COLUMNS // 2)):
            row, column = at.task(thread, v)
            c[tile, part * 64 + row, column] = sums[v]


def pipeline(tiles, iterations, behind=1):
    """c[tile] = the sum over iterations of a[tile, iteration] · b[iteration].

    Tiles are given back `behind` iterations after their products were started.
    """
    a_layout = wgmma_layout(f16, STAGES, ROWS, DEPTH)
    b_layout = wgmma_layout(f16, STAGES, COLUMNS, DEPTH)

    @script
    def kernel(
        a: f16[tiles, iterations, ROWS * DEPTH],
        b: f16[iterations, COLUMNS * DEPTH],
        c: f32[tiles, ROWS, COLUMNS],
    ) -> None:
        attr.cuda_grid_dim = BLOCKS
        attr.cuda_block_dim = 384
        attr.cuda_min_blocks = 1
        tile_a = shared_tensor(f16, (STAGES, ROWS, DEPTH), a_layout)
        tile_b = shared_tensor(f16, (STAGES, COLUMNS, DEPTH), b_layout)
        full, empty = shared_tensor(u64, STAGES), shared_tensor(u64, STAGES)
        if threadIdx.x == 0:
            for stage in range(STAGES):
                mbarrier_init(~full[stage], 1)
                mbarrier_init(~empty[stage], 8)
            fence_mbarrier_init()
        syncthreads()
        if threadIdx.x < 128:
            setmaxnreg_dec(40)
            if threadIdx.x == 0:
                produce(a, b, tile_a, tile_b, full, empty, tiles, iterations)
        else:
            setmaxnreg_inc(232)
            part = threadIdx.x // 128 - 1
            consume(c, tile_a, tile_b, full, empty, part, tiles, iterations, behind)

    return kernel


def laid_out(tiles):
    """Matrices [..., rows, 64] in the order in which a tile in shared memory has its elements."""
    rows, columns = tiles.shape[-2:]
    row, column = np.indices((rows, columns))
    order = np.vectorize(wgmma_layout(f16, rows, columns))(row, column).reshape(-1)
    flat = np.empty((*tiles.shape[:-2], rows * columns), tiles.dtype)
    flat[..., order] = tiles.reshape(*tiles.shape[:-2], -1)
    return flat


@pytest.mark.parametrize(("tiles", "iterations"), [(5, 3), (3, 7)])
def test_pipeline(tiles, iterations, run):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((tiles, iterations, ROWS, DEPTH)).astype(np.float16)
    b = rng.standard_normal((iterations, COLUMNS, DEPTH)).astype(np.float16)
    c = np.full((tiles, ROWS, COLUMNS), np.nan, np.float32)
    *_, found = run(pipeline(tiles, iterations), laid_out(a), laid_out(b), c)
    a, b = a.astype(np.float64), b.astype(np.float64)
    exact = np.einsum("tnrk,nck->trc", a, b)
    lost = np.einsum("tnrk,nck->trc", np.abs(a), np.abs(b)) * 2.0**-21 * 4 * iterations
    assert (np.abs(found - exact) <= lost).all()


def test_tiles_given_back_too_early(simulated):
    """A copy into a tile that a product still reads is an error, though the values come out."""
    a, b = (np.zeros(shape, np.float16) for shape in ((3, 7, ROWS * DEPTH), (7, COLUMNS * DEPTH)))
    with pytest.raises(MissingWait, match=r"bulk copy .* writes what a wgmma .* read"):
        simulated(pipeline(3, 7, behind=0), a, b, np.zeros((3, ROWS, COLUMNS), np.float32))


def test_the_compiler_leaves_it_as_it_is():
    """Neither setmaxnreg is ignored nor a product serialised, and nothing is spilled."""
    as_meant([lower(pipeline(5, 3).kernel)])
