"""Loops that look until something changes: they wait, and say for what when nothing will."""

import numpy as np
import pytest

from hidet.sim import Deadlock, StepLimit, launch

LOOKING = """
    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 96
        tile = shared_tensor("float32", [64])
        full = shared_tensor("uint64", [1])
        if threadIdx.x == 0:
            mbarrier_init(~full[0], 1)
            fence_mbarrier_init()
        syncthreads()
        if threadIdx.x == 64:
            mbarrier_arrive_expect_tx(~full[0], 256)
            cp_async_bulk_load(~tile[0], ~x[0], 256, ~full[0])
        if threadIdx.x < 64:
            done = mbarrier_try_wait(~full[0], 0)
            while not done:
                done = mbarrier_try_wait(~full[0], 0)
            y[threadIdx.x] = tile[threadIdx.x]
"""


@pytest.mark.parametrize("name", ["try", "test"])
def test_a_wait_in_a_loop(variant, name):
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    text = LOOKING.replace("mbarrier_try_wait", f"mbarrier_{name}_wait")
    launch(variant(text), x, y)
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", ["try", "test"])
def test_a_wait_in_a_loop_that_never_ends(variant, name):
    text = LOOKING.replace("mbarrier_try_wait", f"mbarrier_{name}_wait")
    kernel = variant(
        text, {"tx(~full[0], 256)": "tx(~full[0], 512)", "not done:": "not done:  # here"}
    )
    with pytest.raises(Deadlock, match=r"31 more waits .* full\[0\], .* 256 bytes") as e:
        launch(kernel, np.zeros(64, np.float32), np.zeros(64, np.float32))
    assert e.value.place.line == variant.line


FLAGS = """
    @script
    def kernel(flag: i32[2], y: i32[2]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 32
        if threadIdx.x == 0:
            if blockIdx.x == 1:
                atomic_exchange(~flag[0], 1)
            while atomic_add(~flag[blockIdx.x], 0) == 0:
                pass
            atomic_exchange(~flag[1], 1)
            y[blockIdx.x] = 1
"""


def test_flags_of_two_blocks(variant):
    y = np.zeros(2, np.int32)
    launch(variant(FLAGS), np.zeros(2, np.int32), y)
    np.testing.assert_array_equal(y, 1)
    with pytest.raises(Deadlock, match=r"block \(0.*block \(1"):
        launch(
            variant(FLAGS, {"exchange(~flag[0], 1)": "exchange(~flag[0], 0)"}),
            np.zeros(2, np.int32),
            y,
        )


def test_resting_is_no_progress(variant):
    y = np.zeros(2, np.int32)
    rest = {"            pass": "            nanosleep(20)"}
    launch(variant(FLAGS, rest), np.zeros(2, np.int32), y)
    np.testing.assert_array_equal(y, 1)
    stuck = variant(FLAGS, {**rest, "exchange(~flag[0], 1)": "exchange(~flag[0], 0)"})
    with pytest.raises(Deadlock):
        launch(stuck, np.zeros(2, np.int32), y)


def test_a_loop_that_only_computes_ends_at_the_limit(variant):
    forever = """
    @script
    def kernel(y: i32[1]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 1
        i = 0
        while i < 10:
            i = i * 1
        y[0] = i
    """
    with pytest.raises(StepLimit):
        launch(variant(forever), np.zeros(1, np.int32), step_limit=100)
