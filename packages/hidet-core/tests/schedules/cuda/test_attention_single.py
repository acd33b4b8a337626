"""Attention in float32: parts of operands, how near it is to float64, and where it pays."""

import numpy as np
import pytest

from hidet import sim
from hidet.graph import refer
from hidet.lang import attr, cast, f32, script, tf32
from hidet.lang.cuda import threadIdx
from hidet.ops.attention import Attention
from hidet.options import options
from hidet.schedules.cuda.attention import attention_mma, by_tensor_cores
from hidet.schedules.cuda.attention_space import Blocks
from hidet.schedules.cuda.two_parts import large_of, small_of
from hidet.target import Target

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


def error(op, **settings):
    """How far the simulated kernel is from float64, and how far float32 is: as norms."""
    with options(**settings):
        module = attention_mma(op, TARGET, POINT).module
    arrays = op.examples(seed=0)
    y = np.zeros(op.infer().shape, np.float32)
    workspaces = [np.zeros([int(n) for n in w.of.shape], np.float32) for w in module.workspaces]
    values = dict(zip((*module.params, *module.workspaces), (*arrays, y, *workspaces), strict=True))
    for call in module.calls:
        sim.launch(module.kernel(call.kernel), *(values[arg] for arg in call.args))
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


def test_the_option_allows_one_product():
    found, usual = error(OP, tf32=True)
    assert 100 * usual < found < 1e-3


@pytest.mark.parametrize(
    ("arch", "short", "long"),
    [("sm_80", True, True), ("sm_90a", True, True), ("sm_120", True, False)],
)
def test_scores_are_in_memory_where_tf32_is_slow_and_rows_are_long(arch, short, long):
    def takes(heads, rows):
        op = Attention(*[f32[heads, rows, 64]] * 3, None, False, 0.125)
        return by_tensor_cores(op, Target.parse(arch))

    assert (takes(12, 128), takes(64, 2048)) == (short, long)
