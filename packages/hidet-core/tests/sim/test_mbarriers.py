"""mbarriers and bulk copies: correct pipelines pass, their broken twins are caught in place."""

import numpy as np
import pytest

from hidet.sim import (
    Deadlock,
    MbarrierMisuse,
    MissingFence,
    MissingWait,
    Race,
    launch,
)

PIPELINE = """
    @script
    def kernel(x: f32[7, 64], y: f32[7, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 96
        ring = shared_tensor("float32", [3, 64])
        full = shared_tensor("uint64", [3])
        empty = shared_tensor("uint64", [3])
        if threadIdx.x == 0:
            for s in range(3):
                mbarrier_init(~full[s], 1)
                mbarrier_init(~empty[s], 2)
            fence_mbarrier_init()
        syncthreads()
        if threadIdx.x < 32:
            if threadIdx.x == 0:
                for i in range(7):
                    s = i % 3
                    mbarrier_wait(~empty[s], (i // 3 + 1) % 2)
                    mbarrier_arrive_expect_tx(~full[s], 256)
                    cp_async_bulk_load(~ring[s, 0], ~x[i, 0], 256, ~full[s])
        else:
            t = threadIdx.x - 32
            for i in range(7):
                s = i % 3
                mbarrier_wait(~full[s], i // 3 % 2)
                y[i, t] = ring[s, t] + 1.0
                syncwarp()
                if t % 32 == 0:
                    mbarrier_arrive(~empty[s])
"""


def run(kernel):
    x = np.random.default_rng(0).random((7, 64), np.float32)
    y = np.zeros_like(x)
    launch(kernel, x, y)
    return x, y


def test_pipeline(variant):
    x, y = run(variant(PIPELINE))
    np.testing.assert_array_equal(y, x + 1)


WRONG = {
    "the consumers do not wait": (
        MissingWait,
        {"mbarrier_wait(~full[s], i // 3 % 2)": "pass", "+ 1.0": "+ 1.0  # here"},
    ),
    "the consumers' parity is flipped": (
        MissingWait,
        {"i // 3 % 2": "(i // 3 + 1) % 2", "+ 1.0": "+ 1.0  # here"},
    ),
    "the parity does not flip": (MissingWait, {"i // 3 % 2": "0", "+ 1.0": "+ 1.0  # here"}),
    "the producer does not wait": (
        MbarrierMisuse,
        {
            "mbarrier_wait(~empty[s], (i // 3 + 1) % 2)": "pass",
            "tx(~full[s], 256)": "tx(~full[s], 256)  # here",
        },
    ),
    "the wait is one stage off": (
        MissingWait,
        {"mbarrier_wait(~full[s]": "mbarrier_wait(~full[(s + 1) % 3]", "+ 1.0": "+ 1.0  # here"},
    ),
    "no syncwarp before one lane arrives": (
        Race,
        {"syncwarp()": "pass", "256, ~full[s])": "256, ~full[s])  # here"},
    ),
    "no fence after the initialisation": (
        MissingFence,
        {"fence_mbarrier_init()": "pass", "256, ~full[s])": "256, ~full[s])  # here"},
    ),
    "no barrier after the initialisation": (
        Race,
        {"syncthreads()": "pass", "i // 3 % 2)": "i // 3 % 2)  # here"},
    ),
    "too few bytes expected": (
        Deadlock,
        {"tx(~full[s], 256)": "tx(~full[s], 128)"},
    ),
    "too many bytes expected": (
        Deadlock,
        {"tx(~full[s], 256)": "tx(~full[s], 512)"},
    ),
    "one more arrival is expected": (Deadlock, {"(~empty[s], 2)": "(~empty[s], 3)"}),
    "all lanes arrive": (
        MbarrierMisuse,
        {"if t % 32 == 0:": "if t >= 0:", "_arrive(~empty[s])": "_arrive(~empty[s])  # here"},
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_broken_pipeline(variant, name):
    kind, changes = WRONG[name]
    kernel = variant(PIPELINE, changes)
    with pytest.raises(kind) as caught:
        run(kernel)
    if variant.line:
        assert caught.value.place.line == variant.line
