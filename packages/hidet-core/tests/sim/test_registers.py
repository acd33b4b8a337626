"""setmaxnreg: the block's registers go round, and never become more."""

import numpy as np
import pytest

from hidet.sim import Deadlock, DivergentBarrier, RegisterBudget, launch

ROLES = """
    @script
    def kernel(y: f32[2, 384]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 384
        attr.cuda_min_blocks = 1
        if threadIdx.x < 128:
            setmaxnreg_dec(40)
        else:
            setmaxnreg_inc(232)
        y[blockIdx.x, threadIdx.x] = 1.0
"""


def run(kernel):
    y = np.zeros((2, 384), np.float32)
    launch(kernel, y)
    return y


def test_what_one_warpgroup_gives_others_take(variant):
    """(168 - 40) registers for two times (232 - 168)."""
    assert (run(variant(ROLES)) == 1).all()


def test_those_who_take_wait_for_those_who_give(variant):
    swapped = {
        "setmaxnreg_dec(40)": "setmaxnreg_inc(232)",
        "else:\n        setmaxnreg_inc(232)": "elif threadIdx.x < 256:\n"
        "        setmaxnreg_inc(232)\n    else:\n        setmaxnreg_dec(40)",
    }
    assert (run(variant(ROLES, swapped)) == 1).all()


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        (Deadlock, {"inc(232)": "inc(240)  # here"}, "waits for another"),
        (RegisterBudget, {"inc(232)": "inc(256)  # here"}, "asks for 65536.* the block has 64512"),
        (RegisterBudget, {"dec(40)": "dec(200)  # here"}, "to 200 registers of a thread .* 168"),
        (RegisterBudget, {"inc(232)": "inc(160)  # here"}, "to 160 registers of a thread .* 168"),
        (
            RegisterBudget,
            {"    attr.cuda_min_blocks = 1\n": "", "dec(40)": "dec(40)  # here"},
            "how many blocks should fit",
        ),
        (
            DivergentBarrier,
            {"< 128": "< 64", "dec(40)": "dec(40)  # here"},
            "not reached by all 128 threads",
        ),
    ],
)
def test_what_goes_wrong(variant, kind, changes, message):
    kernel = variant(ROLES, changes)
    with pytest.raises(kind, match=message) as caught:
        run(kernel)
    assert caught.value.place.line == variant.line


def test_a_product_needs_registers_for_its_sums(variant):
    kernel = variant("""
    @script
    def kernel(y: f32[128]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 128
        attr.cuda_min_blocks = 1
        tile = shared_tensor("float16", [256, 64], wgmma_layout(f16, 256, 64))
        sums = register_tensor("float32", [128])
        for i in range(256):
            tile[i, threadIdx.x % 64] = 0.0
        fence_proxy_async()
        syncthreads()
        setmaxnreg_dec(104)
        wgmma_fence(sums)
        one = wgmma_descriptor(~tile[0, 0])
        wgmma(one, one, sums, "m64n256k16", add=False)  # here
        wgmma_commit_group()
        wgmma_wait_group(0, sums)
    """)
    with pytest.raises(RegisterBudget, match="take 128 registers of a thread, which has 104") as e:
        launch(kernel, np.zeros(128, np.float32))
    assert e.value.place.line == variant.line
