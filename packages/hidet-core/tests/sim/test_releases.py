"""What one block made visible to another: by a fence and an atomic, of copies as of stores."""

import numpy as np
import pytest

from hidet.sim import MissingFence, MissingWait, Race, launch

HANDED = """
    @script
    def kernel(x: f32[64], part: f32[64], flag: i32[1], y: f32[64]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        done = shared_tensor("uint64", [1])
        t = threadIdx.x
        if t == 0:
            mbarrier_init(~done[0], 1)
            fence_mbarrier_init()
        syncthreads()
        if blockIdx.x == 0:
            tile[t] = x[t] * 2.0
            fence_proxy_async("shared::cta")
            syncthreads()
            if t == 0:
                cp_async_bulk_store(~part[0], ~tile[0], 256)
                cp_async_bulk_commit_group()
                cp_async_bulk_wait_group(0)
                threadfence()
                atomic_add(~flag[0], 1)
        else:
            if t == 0:
                while atomic_add(~flag[0], 0) == 0:
                    pass
            syncthreads()
            y[t] = part[t]
            syncthreads()
            part[t] = 0.0
"""
"""One block stores by a bulk copy; the other one waits for a flag, and reads."""

WRONG = {
    "the copy is not waited for": (
        MissingWait,
        {"cp_async_bulk_wait_group(0)": "pass", "y[t] = part[t]": "y[t] = part[t]  # here"},
    ),
    "only its source is waited for": (
        MissingWait,
        {"group(0)": "group(0, read=True)", "y[t] = part[t]": "y[t] = part[t]  # here"},
    ),
    "no fence before the flag": (
        MissingWait,
        {"threadfence()": "pass", "y[t] = part[t]": "y[t] = part[t]  # here"},
    ),
    "a fence for the block only": (
        MissingWait,
        {"threadfence()": 'threadfence("block")', "y[t] = part[t]": "y[t] = part[t]  # here"},
    ),
    "one thread looked, and the others did not meet it": (
        (MissingWait, Race),
        {
            "syncthreads()\n        y[t] = part[t]": "y[t] = part[t]  # here",
        },
    ),
}


def run(kernel):
    x = np.random.default_rng(0).random(64, np.float32)
    y = np.zeros_like(x)
    launch(kernel, x, np.zeros_like(x), np.zeros(1, np.int32), y)
    np.testing.assert_array_equal(y, x * 2)


def test_a_completed_copy_is_handed_on(variant):
    run(variant(HANDED))


@pytest.mark.parametrize("name", WRONG)
def test_broken_handing_on(variant, name):
    kind, changes = WRONG[name]
    kernel = variant(HANDED, changes)
    with pytest.raises(kind) as caught:
        run(kernel)
    assert caught.value.place.line == variant.line


STORED = {
    "cp_async_bulk_store(~part[0], ~tile[0], 256)": "pass",
    "tile[t] = x[t] * 2.0": "part[t] = x[t] * 2.0",
    "y[t] = part[t]": """if t == 0:
            fence_proxy_async("global")
            mbarrier_arrive_expect_tx(~done[0], 256)
            cp_async_bulk_load(~tile[0], ~part[0], 256, ~done[0])  # here
        mbarrier_wait(~done[0], 0)
        y[t] = tile[t]""",
}
"""The first block stores as usual, and the second one copies."""


def test_stores_are_copied_after_a_proxy_fence(variant):
    run(variant(HANDED, STORED))


def test_stores_are_copied_without_a_proxy_fence(variant):
    changes = {**STORED}
    changes["y[t] = part[t]"] = changes["y[t] = part[t]"].replace(
        'fence_proxy_async("global")', "pass"
    )
    kernel = variant(HANDED, changes)
    with pytest.raises(MissingFence) as caught:
        run(kernel)
    assert caught.value.place.line == variant.line


WITHIN = """
    @script
    def kernel(y: i32[32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("int32", [32])
        flag = shared_tensor("int32", [1])
        if threadIdx.x == 0:
            flag[0] = 0
        syncthreads()
        if threadIdx.x < 32:
            tile[threadIdx.x] = threadIdx.x
            syncwarp()
            if threadIdx.x == 0:
                threadfence("block")  # before
                atomic_add(~flag[0], 1)
        else:
            if threadIdx.x == 32:
                while atomic_add(~flag[0], 0) == 0:
                    pass
                threadfence("block")  # after
            syncwarp()
            y[threadIdx.x - 32] = tile[threadIdx.x - 32]  # here
"""


def test_a_flag_within_a_block(variant):
    y = np.zeros(32, np.int32)
    launch(variant(WITHIN), y)
    np.testing.assert_array_equal(y, np.arange(32))


LOST = {
    "the fence before": {'threadfence("block")  # before': "pass"},
    "the fence after": {'threadfence("block")  # after': "pass"},
    "the first meeting": {"syncwarp()\n        if": "if"},
    "the last meeting": {"syncwarp()\n        y[": "y["},
}


@pytest.mark.parametrize("lost", LOST)
def test_a_broken_flag_within_a_block(variant, lost):
    kernel = variant(WITHIN, LOST[lost])
    with pytest.raises(Race) as caught:
        launch(kernel, np.zeros(32, np.int32))
    assert caught.value.place.line == variant.line
