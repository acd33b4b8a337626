"""A whole product by wgmma, tiles by cp.async: in the simulator, and on a GPU."""

import numpy as np
import pytest

from hidet.lang import (
    attr,
    cdiv,
    f32,
    maximum,
    minimum,
    register_tensor,
    script,
    shared_tensor,
    static,
)
from hidet.lang.cuda import (
    blockIdx,
    cp_async,
    cp_async_commit_group,
    cp_async_wait_group,
    fence_proxy_async,
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
from hidet.testing.as_meant import as_meant
from hidet.types import f16

ROWS, COLUMNS, DEPTH, STAGES = 64, 128, 64, 4
CHUNK = 8
"""Elements of a 16-byte copy."""


def matmul(m, n, k):
    """a[m, k] · b[n, k], tiles by cp.async four deep, one group of products always under way."""
    iterations = cdiv(k, DEPTH)
    a_layout = wgmma_layout(f16, STAGES, ROWS, DEPTH)
    b_layout = wgmma_layout(f16, STAGES, COLUMNS, DEPTH)
    at = wgmma_c(COLUMNS)

    @script
    def fetch(x, tile, stage, top, rows, iteration):
        row, column = threadIdx.x // 8, threadIdx.x % 8 * CHUNK
        limit = m if rows == ROWS else n
        for r in range(rows // 16):
            there, here = top + row + r * 16, iteration * DEPTH + column
            taken = 0
            if there < limit:
                taken = maximum(0, minimum(CHUNK, k - here)) * 2
            source = ~x[minimum(there, limit - 1), minimum(here, k - CHUNK)]
            cp_async(~tile[stage, row + r * 16, column], source, 16, taken)

    @script
    def product(a: f16[m, k], b: f16[n, k], c: f32[m, n]) -> None:
        attr.cuda_grid_dim = (cdiv(n, COLUMNS), cdiv(m, ROWS))
        attr.cuda_block_dim = 128
        top, left = blockIdx.y * ROWS, blockIdx.x * COLUMNS
        tile_a = shared_tensor(f16, (STAGES, ROWS, DEPTH), a_layout)
        tile_b = shared_tensor(f16, (STAGES, COLUMNS, DEPTH), b_layout)
        sums = register_tensor(f32, COLUMNS // 2, init=0)
        for first in static(range(2)):
            if first < iterations:
                fetch(a, tile_a, first, top, ROWS, first)
                fetch(b, tile_b, first, left, COLUMNS, first)
            cp_async_commit_group()
        wgmma_fence(sums)
        for iteration in range(iterations):
            cp_async_wait_group(1)
            fence_proxy_async()
            syncthreads()
            one = wgmma_descriptor(~tile_a[iteration % STAGES, 0, 0])
            two = wgmma_descriptor(~tile_b[iteration % STAGES, 0, 0])
            wgmma_fence()
            for deep in static(range(DEPTH // 16)):
                wgmma(one.advance(32 * deep), two.advance(32 * deep), sums, "m64n128k16")
            wgmma_commit_group()
            wgmma_wait_group(1)
            if iteration + 2 < iterations:
                fetch(a, tile_a, (iteration + 2) % STAGES, top, ROWS, iteration + 2)
                fetch(b, tile_b, (iteration + 2) % STAGES, left, COLUMNS, iteration + 2)
            cp_async_commit_group()
        wgmma_wait_group(0, sums)
        for v in static(range(COLUMNS // 2)):
            row, column = at.task(threadIdx.x, v)
            if top + row < m and left + column < n:
                c[top + row, left + column] = sums[v]

    return product


def check(run, m, n, k):
    """The product of random matrices is as near to the exact one as float32 sums are."""
    rng = np.random.default_rng(4)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (n, k)))
    *_, found = run(matmul(m, n, k), a, b, np.full((m, n), np.nan, np.float32))
    a, b = a.astype(np.float64), b.astype(np.float64)
    lost = np.abs(a) @ np.abs(b).T * 2.0**-21 * cdiv(k, 16)
    assert (np.abs(found - a @ b.T) <= lost).all()


@pytest.mark.parametrize(("m", "n", "k"), [(64, 128, 64), (100, 136, 328), (1, 8, 8)])
def test_product(m, n, k, run):
    check(run, m, n, k)


@pytest.mark.gpu
def test_a_large_product(on_device):
    check(on_device, 1000, 8888, 2048)


def test_the_compiler_leaves_products_as_they_are():
    """No waits were put in between, and nothing was serialised or spilled."""
    as_meant([lower(matmul(1000, 1000, 1000).kernel)])
