"""Attention in float32: parts of operands, how near it is to float64, and where it pays."""

from functools import cache

import numpy as np
import pytest

from hidet import sim
from hidet.graph import refer
from hidet.lang import attr, cast, f32, script, tf32
from hidet.lang.cuda import threadIdx
from hidet.ops.products.attention import Attention
from hidet.options import options
from hidet.schedules.cuda.attention.blocks import Blocks
from hidet.schedules.cuda.attention.schedule import by_tensor_cores, tiled
from hidet.schedules.cuda.attention.simt import Lanes
from hidet.schedules.cuda.tiles.two_parts import large_of, small_of
from hidet.target import Target
from hidet.testing.fused import as_run
from hidet.types import boolean

TARGET = Target.parse("sm_90a")
OP = Attention(f32[3, 33, 64], f32[3, 129, 64], f32[3, 129, 64], None, False, 0.125)
POINT = Blocks(32, 64, (2, 1), 2, 1)


def test_two_parts_are_the_whole():
    @script
    def divide(x: f32[32], large: f32[32], small: f32[32], nearest: f32[32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        i = threadIdx.x
        part = large_of(x[i])
        large[i] = cast(part, f32)
        small[i] = cast(small_of(x[i], part), f32)
        nearest[i] = cast(cast(x[i], tf32), f32)

    random = np.random.default_rng(0)
    x = (random.standard_normal(32) * 10.0 ** random.integers(-20, 20, 32)).astype(np.float32)
    x[:3] = 0, -1, 1 + 2**-11  # a tie
    large, small, nearest = (np.zeros(32, np.float32) for _ in range(3))
    sim.launch(divide, x, large, small, nearest)
    np.testing.assert_array_equal(large, nearest)
    np.testing.assert_array_equal(large + small, x)
    assert (np.abs(small) <= np.abs(x) * 2.0**-11).all()


def simulated(op, point, arrays, **settings):
    """What the kernels give, after all passes."""
    y = np.full(op.infer().shape, 77, np.float32)
    sim.launch(built(op, point, **settings), *arrays, y)
    return y


@cache
def built(op, point, **settings):
    """The kernels after all passes."""
    with options(**settings):
        return as_run(tiled(op, TARGET, point).module)


def error(op, point=POINT, **settings):
    """How far the simulated kernel is from float64, and how far float32 is: as norms."""
    arrays = op.examples(seed=0)
    y = simulated(op, point, arrays, **settings)
    (exact,) = refer(op, arrays)
    q, k, v = arrays
    scores = (q @ k.swapaxes(-1, -2)) * np.float32(op.scale)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    usual = (weights / weights.sum(-1, keepdims=True, dtype=np.float32)) @ v
    size = np.linalg.norm(exact)
    return np.linalg.norm(y - exact) / size, np.linalg.norm(usual - exact) / size


def test_three_products_are_as_exact_as_float32():
    found, usual = error(OP)
    assert found <= 2 * usual


def test_cuda_cores_are_as_exact_as_float32():
    found, usual = error(OP, Lanes(32, 64, (2, 1), 2, 1))
    assert found <= 2 * usual


def test_the_option_allows_one_product():
    found, usual = error(OP, tf32=True)
    assert 100 * usual < found < 1e-3


def small(mask=None, causal=False):
    return Attention(f32[2, 5, 24], f32[2, 71, 24], f32[2, 71, 9], mask, causal, 0.2)


SPECIAL = [
    (small(), Blocks(16, 32, (1, 1), 2, 1)),
    (small(f32[5, 71]), Blocks(16, 32, (1, 2), 2, 2)),
    (small(boolean[71]), Blocks(32, 32, (2, 1), 2, 1)),
    (small(causal=True), Blocks(16, 128, (1, 8), 1, 1)),
    (small(), Lanes(16, 32, (1, 1), 2, 1)),
    (small(causal=True), Lanes(16, 64, (1, 2), 2, 1)),
]
"""Alone, in turns, with warps or blocks that share the keys; on CUDA cores."""
LARGEST = np.finfo(np.float32).max


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, LARGEST], ids=str)
@pytest.mark.parametrize("operand", ["q", "k", "v"])
@pytest.mark.parametrize(("op", "point"), SPECIAL, ids=str)
def test_what_has_no_two_parts_counts_where_it_should(op, point, operand, special):
    """In its row of q, in the rows that see its key, in its column of v: no part of it is left."""
    arrays = dict(zip("qkvm", map(np.array, op.examples(seed=0)), strict=False))
    arrays["q"][..., 3] = 0.25, -0.25, 0.5, -0.125, 0.25
    arrays["k"][..., 3] /= 8
    if op.mask is not None:
        arrays["m"][..., 2] = 1
    arrays[operand][1, 0 if op.causal else 2, 3] = special
    assert point.fits(op, TARGET)
    found = simulated(op, point, arrays.values())
    with np.errstate(invalid="ignore"):
        (wanted,) = refer(op, list(arrays.values()))
    assert np.isfinite(wanted).any()
    np.testing.assert_allclose(found, wanted.astype(np.float32), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("tf32", [False, True])
@pytest.mark.parametrize("operand", ["q", "k", "v"])
def test_a_number_that_is_no_number_in_any_bit_stays_none(operand, tf32):
    op, point = SPECIAL[0]
    arrays = dict(zip("qkv", map(np.array, op.examples(seed=0)), strict=True))
    arrays[operand].view(np.uint32)[:, :, 3] = 0x7FFFFFFF
    found = simulated(op, point, arrays.values(), tf32=tf32)
    assert np.isnan(found[..., 3] if operand == "v" else found).all()


@pytest.mark.parametrize(
    ("arch", "short", "long"),
    [("sm_80", True, True), ("sm_90a", True, True), ("sm_120", True, False)],
)
def test_scores_are_in_memory_where_tf32_is_slow_and_rows_are_long(arch, short, long):
    def takes(heads, rows):
        op = Attention(*[f32[heads, rows, 64]] * 3, None, False, 0.125)
        return by_tensor_cores(op, Target.parse(arch))

    assert (takes(12, 128), takes(64, 2048)) == (short, long)
