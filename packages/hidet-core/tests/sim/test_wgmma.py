"""wgmma under way: what must come before it, what it holds, and who takes part."""

import numpy as np
import pytest

from hidet.errors import SimulationError
from hidet.passes.pipeline import lower
from hidet.sim import (
    DivergentBarrier,
    MissingFence,
    MissingWait,
    OutOfBounds,
    Race,
    Uninitialised,
    launch,
)

PRODUCT = """
    layout = wgmma_layout(f16, 64, 64)

    @script
    def kernel(a: f16[64, 64], b: f16[64, 64], c: f32[64, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 128
        left = shared_tensor("float16", [64, 64], layout)
        right = shared_tensor("float16", [64, 64], layout)
        sums = register_tensor("float32", [32])
        for i in range(32):
            row, column = i * 2 + threadIdx.x // 64, threadIdx.x % 64
            left[row, column] = a[row, column]
            right[row, column] = b[row, column]
        for v in static(range(32)):
            sums[v] = 1.0
        fence_proxy_async()
        syncthreads()
        first, second = wgmma_descriptor(~left[0, 0]), wgmma_descriptor(~right[0, 0])
        wgmma_fence(sums)
        for k in static(range(4)):
            wgmma(first.advance(32 * k), second.advance(32 * k), sums, "m64n64k16")
        wgmma_commit_group()
        wgmma_wait_group(0, sums)
        for v in static(range(32)):
            row = threadIdx.x // 32 * 16 + threadIdx.x % 32 // 4 + v // 2 % 2 * 8
            c[row, v // 4 * 8 + threadIdx.x % 4 * 2 + v % 2] = sums[v]
"""


def run(kernel):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((64, 64)).astype(np.float16) for _ in range(2))
    c = np.zeros((64, 64), np.float32)
    report = launch(kernel, a, b, c)
    return a.astype(np.float64), b.astype(np.float64), c, report


def test_product(variant):
    a, b, c, report = run(variant(PRODUCT))
    np.testing.assert_allclose(c, 1 + a @ b.T, atol=1e-5)
    assert report.executed["wgmma"] == 4 * 128


def test_product_after_lowering(variant):
    a, b, c, _ = run(lower(variant(PRODUCT)))
    np.testing.assert_allclose(c, 1 + a @ b.T, atol=1e-5)


def test_a_tile_takes_few_steps(variant):
    """A tile of 64 x 128 x 64 is four instructions of one step each, not loops over elements."""
    wide = {
        'right = shared_tensor("float16", [64, 64], layout)': "right = shared_tensor("
        '"float16", [128, 64], wgmma_layout(f16, 128, 64))',
        "right[row, column] = b[row, column]": "right[row, column] = b[row, column]\n"
        "        right[row + 64, column] = b[row, column]",
        'sums = register_tensor("float32", [32])': 'sums = register_tensor("float32", [64])',
        "for v in static(range(32)):\n        sums[v] = 1.0": "for v in static(range(64)):\n"
        "        sums[v] = 1.0",
        '"m64n64k16"': '"m64n128k16"',
    }
    a, b, c, report = run(variant(PRODUCT, wide))
    np.testing.assert_allclose(c, 1 + a @ b.T, atol=1e-5)
    products = {n: count for n, count in report.executed.items() if n.startswith("wgmma")}
    assert products["wgmma"] == 4 * 128
    assert report.executed["load shared"] == 0


START = '"m64n64k16")  # here'
WAIT = "wgmma_wait_group(0, sums)"
WRONG = {
    "no proxy fence": (MissingFence, {"fence_proxy_async()": "pass", '"m64n64k16")': START}),
    "the proxy fence after the barrier, by another thread": (
        SimulationError,
        {
            "fence_proxy_async()\n    syncthreads()": "syncthreads()\n"
            "    if threadIdx.x < 32:\n        fence_proxy_async()",
            '"m64n64k16")': START,
        },
    ),
    "no barrier": (Race, {"    syncthreads()\n": "", '"m64n64k16")': START}),
    "no fence at all": (MissingFence, {"wgmma_fence(sums)": "pass", '"m64n64k16")': START}),
    "sums touched after the fence": (
        MissingFence,
        {"wgmma_fence(sums)": "wgmma_fence(sums)\n    sums[31] = 2.0", '"m64n64k16")': START},
    ),
    "no wait": (MissingWait, {WAIT: "pass", "= sums[v]": "= sums[v]  # here"}),
    "a wait that leaves the group": (
        MissingWait,
        {WAIT: "wgmma_wait_group(1, sums)", "= sums[v]": "= sums[v]  # here"},
    ),
    "no commit": (
        MissingWait,
        {"wgmma_commit_group()": "pass", "= sums[v]": "= sums[v]  # here"},
    ),
    "sums written under way": (
        MissingWait,
        {"wgmma_commit_group()": "wgmma_commit_group()\n    sums[0] = 0.0  # here"},
    ),
    "the tile overwritten under way": (
        MissingWait,
        {WAIT: "left[threadIdx.x % 64, 0] = a[0, 0]  # here\n    " + WAIT},
    ),
    "sums never written": (
        Uninitialised,
        {"sums[v] = 1.0": "sums[v % 31] = 1.0", '"m64n64k16")': START},
    ),
    "a tile never written": (
        Uninitialised,
        {
            "right[row, column] =": "if row < 63:\n            right[row, column] =",
            '"m64n64k16")': START,
        },
    ),
    "half a warpgroup": (
        DivergentBarrier,
        {"wgmma_fence(sums)": "if threadIdx.x < 64:\n        wgmma_fence(sums)  # here"},
    ),
    "a torn warp": (
        DivergentBarrier,
        {"wgmma_commit_group()": "if threadIdx.x != 77:\n        wgmma_commit_group()  # here"},
    ),
    "a tile too small": (
        OutOfBounds,
        {"~right[0, 0]": "~right[8, 0]", '"m64n64k16")': START},
    ),
    "threads that do not agree on the tile": (
        SimulationError,
        {"~left[0, 0]": "~left[threadIdx.x // 32 * 8, 0]", '"m64n64k16")': START},
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_missing(variant, name):
    kind, changes = WRONG[name]
    kernel = variant(PRODUCT, changes)
    with pytest.raises(kind) as caught:
        run(kernel)
    assert caught.value.place.line == variant.line


def test_warps_that_are_no_whole_warpgroup(variant):
    kernel = variant("""
    @script
    def kernel(a: f32[1]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 160
        wgmma_commit_group()  # here
    """)
    with pytest.raises(DivergentBarrier, match="no whole warpgroup") as caught:
        launch(kernel, np.zeros(1, np.float32))
    assert caught.value.place.line == variant.line


HELD = """
    @script
    def kernel(a: f16[64, 16], b: f16[8, 16], c: f32[64, 8]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 128
        right = shared_tensor("float16", [8, 16], wgmma_layout(f16, 8, 16, swizzle=0))
        part = register_tensor("float16", [8])
        sums = register_tensor("float32", [4], init=0)
        right[threadIdx.x // 16, threadIdx.x % 16] = b[threadIdx.x // 16, threadIdx.x % 16]
        top = threadIdx.x // 32 * 16 + threadIdx.x % 32 // 4
        for v in static(range(8)):
            part[v] = a[top + v // 2 % 2 * 8, threadIdx.x % 4 * 2 + v % 2 + v // 4 * 8]
        fence_proxy_async()
        syncthreads()
        wgmma_fence(sums, part)
        wgmma(part, wgmma_descriptor(~right[0, 0]), sums, "m64n8k16")
        wgmma_commit_group()
        wgmma_wait_group(0, sums, part)
        for v in static(range(4)):
            c[top + v // 2 * 8, threadIdx.x % 4 * 2 + v % 2] = sums[v]
"""


def run_held(kernel):
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((n, 16)).astype(np.float16) for n in (64, 8))
    c = np.zeros((64, 8), np.float32)
    launch(kernel, a, b, c)
    return a.astype(np.float64), b.astype(np.float64), c


def test_a_in_registers(variant):
    a, b, c = run_held(variant(HELD))
    np.testing.assert_allclose(c, a @ b.T, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        (
            MissingWait,
            "wgmma_commit_group()",
            "wgmma_commit_group()\n    part[3] = a[0, 0]  # here",
        ),
        (MissingFence, "wgmma_fence(sums, part)", "wgmma_fence(sums)\n    part[0] = a[0, 0]"),
    ],
)
def test_a_in_registers_is_held(variant, kind, old, new):
    changes = {old: new}
    if "# here" not in new:
        changes['"m64n8k16")'] = '"m64n8k16")  # here'
    with pytest.raises(kind) as caught:
        run_held(variant(HELD, changes))
    assert caught.value.place.line == variant.line


def test_the_sums_of_one_product_are_not_a_of_another(variant):
    """Registers of an unfinished product cannot be another one's operand, fence or not."""
    changes = {
        "wgmma_commit_group()\n": "wgmma_fence()\n"
        '    wgmma(~part[0], wgmma_descriptor(~right[0, 0]), part, "m64n8k16")  # here\n'
        "    wgmma_commit_group()\n"
    }
    with pytest.raises(MissingWait, match="is an accumulator while another wgmma") as caught:
        run_held(variant(HELD, changes))
    assert caught.value.place.line == variant.line


def test_two_groups_of_products(variant):
    """The wait for the older group frees its sums only."""
    changes = {
        'sums = register_tensor("float32", [4], init=0)': 'sums = register_tensor("float32", [4],'
        ' init=0)\n    others = register_tensor("float32", [4], init=0)',
        "wgmma_commit_group()": "wgmma_commit_group()\n    wgmma(part, wgmma_descriptor("
        '~right[0, 0]), others, "m64n8k16")\n    wgmma_commit_group()',
        "wgmma_wait_group(0, sums, part)": "wgmma_wait_group(1, sums)",
    }
    with pytest.raises(MissingWait, match="the kernel ends while a wgmma"):
        run_held(variant(HELD, changes))
    changes["] = sums[v]"] = "] = sums[v]\n    wgmma_wait_group(0)"
    a, b, c = run_held(variant(HELD, changes))
    np.testing.assert_allclose(c, a @ b.T, atol=1e-5)
    changes["] = sums[v]"] = "] = others[v]  # here"
    with pytest.raises(MissingWait, match=r"others\[0\] is read while a wgmma") as caught:
        run_held(variant(HELD, changes))
    assert caught.value.place.line == variant.line


def test_registers_of_the_next_iteration_are_others(variant):
    """What is declared anew in each iteration of a loop is not what the last iteration's product
    holds."""
    a, b, c = run_held(
        variant("""
    @script
    def kernel(a: f16[64, 16], b: f16[8, 16], c: f32[64, 8]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 128
        right = shared_tensor("float16", [8, 16], wgmma_layout(f16, 8, 16, swizzle=0))
        sums = register_tensor("float32", [4], init=0)
        right[threadIdx.x // 16, threadIdx.x % 16] = b[threadIdx.x // 16, threadIdx.x % 16]
        top = threadIdx.x // 32 * 16 + threadIdx.x % 32 // 4
        fence_proxy_async()
        syncthreads()
        for iteration in range(3):
            part = register_tensor("float16", [8])
            for v in static(range(8)):
                part[v] = a[top + v // 2 % 2 * 8, threadIdx.x % 4 * 2 + v % 2 + v // 4 * 8]
            wgmma_fence(part)
            wgmma(part, wgmma_descriptor(~right[0, 0]), sums, "m64n8k16")
            wgmma_commit_group()
            wgmma_wait_group(1)
        wgmma_wait_group(0, sums)
        for v in static(range(4)):
            c[top + v // 2 * 8, threadIdx.x % 4 * 2 + v % 2] = sums[v]
    """)
    )
    np.testing.assert_allclose(c, 3 * (a @ b.T), atol=1e-4)
