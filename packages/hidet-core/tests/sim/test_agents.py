"""Bulk stores and proxy fences: what asynchronous operations may see, and when they are done."""

import numpy as np
import pytest

from hidet.sim import MissingFence, MissingWait, Race, launch

STORES = """
    @script
    def kernel(x: f32[6, 64], y: f32[6, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        out = shared_tensor("float32", [2, 64])
        for i in range(6):
            s = i % 2
            if threadIdx.x == 0:
                cp_async_bulk_wait_group(1, read=True)
            syncthreads()
            out[s, threadIdx.x] = x[i, threadIdx.x] * 2.0
            fence_proxy_async("shared::cta")
            syncthreads()
            if threadIdx.x == 0:
                cp_async_bulk_store(~y[i, 0], ~out[s, 0], 256)
                cp_async_bulk_commit_group()
        if threadIdx.x == 0:
            cp_async_bulk_wait_group(0)
        syncthreads()
        y[5, threadIdx.x] = y[5, threadIdx.x] + 1.0
"""

WRONG = {
    "no wait before the buffer is used again": (
        MissingWait,
        {"cp_async_bulk_wait_group(1, read=True)": "pass", "* 2.0": "* 2.0  # here"},
    ),
    "one group too few": (
        MissingWait,
        {"_group(1, read=True)": "_group(2, read=True)", "* 2.0": "* 2.0  # here"},
    ),
    "no barrier after the wait": (
        Race,
        {"read=True)\n        syncthreads()": "read=True)", "* 2.0": "* 2.0  # here"},
    ),
    "no proxy fence": (
        MissingFence,
        {'fence_proxy_async("shared::cta")': "pass", "0], 256)": "0], 256)  # here"},
    ),
    "a proxy fence for other memory": (
        MissingFence,
        {'"shared::cta"': '"global"', "0], 256)": "0], 256)  # here"},
    ),
    "no barrier before the store": (
        Race,
        {'"shared::cta")\n        syncthreads()': '"all")', "0], 256)": "0], 256)  # here"},
    ),
    "only the sources are waited for": (
        MissingWait,
        {"_group(0)": "_group(0, read=True)", "+ 1.0": "+ 1.0  # here"},
    ),
}


def run(kernel):
    x = np.random.default_rng(0).random((6, 64), np.float32)
    y = np.zeros_like(x)
    launch(kernel, x, y)
    return x, y


def test_stores(variant):
    x, y = run(variant(STORES))
    x[5] += 0.5
    np.testing.assert_allclose(y, x * 2)


@pytest.mark.parametrize("name", WRONG)
def test_broken_stores(variant, name):
    kind, changes = WRONG[name]
    kernel = variant(STORES, changes)
    with pytest.raises((kind, MissingWait) if kind is Race else kind) as caught:
        run(kernel)
    assert caught.value.place.line == variant.line


def test_a_fence_by_the_issuer_after_the_barrier_is_enough(variant):
    fenced = {
        'fence_proxy_async("shared::cta")\n        syncthreads()': "syncthreads()",
        "cp_async_bulk_store(": "fence_proxy_async()\n            cp_async_bulk_store(",
    }
    x, y = run(variant(STORES, fenced))
    np.testing.assert_array_equal(y[:5], x[:5] * 2)
