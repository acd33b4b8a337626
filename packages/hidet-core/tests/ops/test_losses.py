"""Losses with weights and with targets that count nothing, against sums written out."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import symbol
from hidet.testing.defined import run


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("ignored", [None, 1, -5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("places", [(), (3,), (2, 2)])
def test_negative_log_likelihood(places, weighted, ignored, reduction):
    random = np.random.default_rng(0)
    x = random.normal(size=(7, 5, *places)).astype(np.float32)
    target = random.integers(0, 5, (7, *places))
    if ignored is not None:
        target[::3] = ignored
    weight = random.uniform(0.1, 2, 5).astype(np.float32)
    losses, scales = np.zeros(target.shape), np.zeros(target.shape)
    for at in np.ndindex(*target.shape):
        if target[at] != ignored:
            scales[at] = weight[target[at]] if weighted else 1
            losses[at] = -x[(at[0], target[at], *at[1:])] * scales[at]
    wanted = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / scales.sum()}[reduction]

    def loss(*operands):
        return ops.negative_log_likelihood(*operands, ignore_index=ignored, reduction=reduction)

    found = run(loss, x, target, *([weight] if weighted else []))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_cross_entropy_of_large_scores():
    x = np.float32([[1000, 0], [0, -1000], [-3, 4]])
    loss, logs = run(ops.cross_entropy, x, np.int64([1, 1, 0]))
    wide = x.astype(np.float64)
    wanted = wide - np.logaddexp(wide[:, :1], wide[:, 1:])
    np.testing.assert_allclose(logs, wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(loss, -(wanted[0, 1] + wanted[1, 1] + wanted[2, 0]) / 3, rtol=1e-6)


def test_what_is_no_loss():
    with pytest.raises(ShapeMismatch, match="a loss of"):
        ops.negative_log_likelihood(symbol([3]), symbol([3], "int64"))
    with pytest.raises(BadArgument, match="no reduction"):
        ops.negative_log_likelihood(symbol([3, 2]), symbol([3], "int64"), reduction="max")
