"""A block of a transformer for every instruction set that this machine runs, against float64."""

import ml_dtypes
import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.errors import BadArchive
from hidet.graph.evaluate import evaluate
from hidet.runtime.executor import check_target
from hidet.runtime.plans.plan import Plan

TARGETS = ("cpu", "cpu+avx2", "cpu+avx512", "cpu+avx512+bf16")
SHARE = {"float32": 2e-6, "bfloat16": 1.5e-2, "float16": 2e-3}
"""How far results may be from float64, as a part of the largest: units of the last place."""
WIDTH, HEADS = 48, 3


def block(x, weights):
    """Attention and two linear layers, each added to what it reads."""
    into, out, up, down = weights
    batch, length, _ = x.shape
    parts = ops.reshape(ops.linear(ops.layer_norm(x), into), (batch, length, 3, HEADS, -1))
    q, k, v = (ops.permute(parts[:, :, n], (0, 2, 1, 3)) for n in range(3))
    seen = ops.permute(ops.attention(q, k, v, causal=True), (0, 2, 1, 3))
    x = x + ops.linear(ops.reshape(seen, x.shape), out)
    return x + ops.linear(ops.gelu(ops.linear(ops.layer_norm(x), up)), down)


def made(dtype):
    """The block as a graph, and its input; weights are so small that sums stay near 1."""
    rng = np.random.default_rng(0)
    of = np.dtype(getattr(ml_dtypes, dtype, dtype))
    shapes = [(3 * WIDTH, WIDTH), (WIDTH, WIDTH), (129, WIDTH), (WIDTH, 129)]
    weights = [rng.standard_normal(s).astype(of) / of.type(s[1] ** 0.5) for s in shapes]
    x = rng.standard_normal((2, 37, WIDTH)).astype(of)
    symbol = hidet.symbol(x.shape, dtype)
    return hidet.trace_from(block(symbol, [*map(hidet.from_numpy, weights)]), [symbol]), x


@pytest.mark.parametrize("dtype", SHARE)
@pytest.mark.parametrize("target", TARGETS)
def test_results_are_as_near_as_the_type_has_it(target, dtype, tmp_path):
    try:
        check_target(Plan(target, (), (), (), (), {}), "cpu")
    except BadArchive as error:
        pytest.skip(error.message)
    graph, x = made(dtype)
    graph.build(target).save(tmp_path / "block.hidet")
    found = hidet.load(tmp_path / "block.hidet")(x).numpy().astype(np.float64)
    (exact,) = evaluate(graph, x)
    assert np.abs(found - exact).max() <= SHARE[dtype] * np.abs(exact).max()
