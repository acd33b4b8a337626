"""cp.async: copies that complete with groups or at mbarriers, and copies nobody waits for."""

import numpy as np
import pytest

from hidet.sim import Deadlock, MissingWait, Race, launch

PIPELINE = """
    @script
    def kernel(x: f32[6, 64], y: f32[6, 64]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 80
        ring = shared_tensor("float32", [2, 64])
        full = shared_tensor("uint64", [2])
        empty = shared_tensor("uint64", [2])
        t = threadIdx.x
        if t == 0:
            for s in range(2):
                mbarrier_init(~full[s], 16)
                mbarrier_init(~empty[s], 64)
        syncthreads()
        if t >= 64:
            for k in range(3):
                i = blockIdx.x * 3 + k
                mbarrier_wait(~empty[k % 2], (k // 2 + 1) % 2)
                cp_async(~ring[k % 2, (t - 64) * 4], ~x[i, (t - 64) * 4])
                cp_async_mbarrier_arrive_noinc(~full[k % 2])
        else:
            for k in range(3):
                mbarrier_wait(~full[k % 2], k // 2 % 2)
                y[blockIdx.x * 3 + k, t] = ring[k % 2, t] + 1.0
                mbarrier_arrive(~empty[k % 2])
"""

COUNTED = {
    "cp_async_mbarrier_arrive_noinc(~full[k % 2])": """cp_async_mbarrier_arrive(~full[k % 2])
            mbarrier_arrive(~full[k % 2])"""
}


def run(kernel):
    x = np.random.default_rng(0).random((6, 64), np.float32)
    y = np.zeros_like(x)
    launch(kernel, x, y)
    np.testing.assert_array_equal(y, x + 1)


@pytest.mark.parametrize("changes", [{}, COUNTED], ids=["noinc", "counted"])
def test_copies_complete_at_an_mbarrier(variant, changes):
    run(variant(PIPELINE, changes))


WRONG = {
    "the consumers do not wait": (
        MissingWait,
        {"mbarrier_wait(~full[k % 2], k // 2 % 2)": "pass", "+ 1.0": "+ 1.0  # here"},
    ),
    "the producer does not wait": (
        (Race, MissingWait),
        {"mbarrier_wait(~empty[k % 2], (k // 2 + 1) % 2)": "pass"},
    ),
    "the copies do not tell the barrier": (
        MissingWait,
        {"cp_async_mbarrier_arrive_noinc": "mbarrier_arrive", "+ 1.0": "+ 1.0  # here"},
    ),
    "completion is no arrival": (Deadlock, {"_arrive_noinc(": "_arrive("}),
}


@pytest.mark.parametrize("name", WRONG)
def test_broken_copies(variant, name):
    kind, changes = WRONG[name]
    kernel = variant(PIPELINE, changes)
    with pytest.raises(kind) as caught:
        run(kernel)
    if variant.line:
        assert caught.value.place.line == variant.line


SOURCE = """
    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        tile = shared_tensor("float32", [64])
        t = threadIdx.x
        cp_async(~tile[t], ~x[t], 4)
        BEFORE
        x[t] = 0.0  # here
        AFTER
        y[t] = tile[t]
"""


def test_a_source_is_read_until_the_wait(variant):
    """The copy of a thread may read long after it was begun, even if the thread goes on."""
    early = variant(SOURCE, {"BEFORE": "cp_async_commit_group()", "AFTER": "cp_async_wait_all()"})
    right = variant(SOURCE, {"BEFORE": "cp_async_wait_all()", "AFTER": "pass"})
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    with pytest.raises(MissingWait, match=r"what an asynchronous copy of .* reads at") as caught:
        launch(early, x.copy(), y)
    assert caught.value.place.line == variant.line
    launch(right, x.copy(), y)
    np.testing.assert_array_equal(y, x)


LEFT = """
    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        tile = shared_tensor("float32", [64])
        full = shared_tensor("uint64", [1])
        t = threadIdx.x
        if t == 0:
            mbarrier_init(~full[0], 1)
            fence_mbarrier_init()
        syncwarp()
        if t == 0:
            START
"""


@pytest.mark.parametrize(
    ("start", "wait"),
    [
        ("cp_async(~tile[0], ~x[0])  # here", "cp_async_wait_all()"),
        (
            "mbarrier_arrive_expect_tx(~full[0], 256)\n"
            "        cp_async_bulk_load(~tile[0], ~x[0], 256, ~full[0])  # here",
            "mbarrier_wait(~full[0], 0)",
        ),
        (
            "for i in range(4):\n            tile[i] = x[i]\n"
            "        fence_proxy_async()\n"
            "        cp_async_bulk_store(~y[0], ~tile[0], 16)  # here\n"
            "        cp_async_bulk_commit_group()",
            "cp_async_bulk_wait_group(0, read=True)",
        ),
    ],
    ids=["cp.async", "load", "store"],
)
def test_a_kernel_waits_before_it_ends(variant, start, wait):
    arrays = np.ones(64, np.float32), np.zeros(64, np.float32)
    launch(variant(LEFT, {"START": f"{start}\n        {wait}"}), *arrays)
    kernel = variant(LEFT, {"START": start})
    with pytest.raises(MissingWait, match="the kernel ends") as caught:
        launch(kernel, *arrays)
    assert caught.value.place.line == variant.line
