"""Scores of classical models against formulas of numpy."""

import math

import numpy as np
import pytest

from hidet import ops
from hidet.errors import BadArgument
from hidet.graph import symbol
from hidet.testing.defined import run


def values(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def test_zeros_stay_out_of_a_softmax():
    x = np.float32([[1, 0, -2], [0, 0, 0], [0, 3, 3]])
    found = run(lambda v: ops.post_transform(v, "SOFTMAX_ZERO"), x)
    e = math.e
    first = np.array([1, 0, e**-3])
    np.testing.assert_allclose(found[0], first / first.sum(), rtol=1e-6)
    np.testing.assert_allclose(found[1:], [[0.5] * 3, [0, 0.5, 0.5]], rtol=1e-6)


def test_other_transforms():
    x = values(3, 4)
    e = np.exp(x.astype(np.float64))
    found = run(lambda v: ops.post_transform(v, "SOFTMAX"), x)
    np.testing.assert_allclose(found, e / e.sum(1, keepdims=True), rtol=1e-6)
    found = run(lambda v: ops.post_transform(v, "LOGISTIC"), x)
    np.testing.assert_allclose(found, e / (1 + e), rtol=1e-6)
    p = np.float32([[0.5, 0.8413447, 0.0227501, 0, 1]])
    found = run(lambda v: ops.post_transform(v, "PROBIT"), p)
    np.testing.assert_allclose(found, [[0, 1, -2, 0, 0]], atol=5e-3)
    with pytest.raises(BadArgument, match="no post transform"):
        ops.post_transform(symbol([2, 2]), "SQUARE")


def test_kernels():
    x, v = values(3, 5), values(4, 5)[::-1].copy()
    product = x.astype(np.float64) @ v.T
    apart = ((x[:, None].astype(np.float64) - v[None]) ** 2).sum(-1)
    for kernel, wanted in (
        ("LINEAR", product),
        ("POLY", (0.3 * product + 1) ** 3),
        ("RBF", np.exp(-0.3 * apart)),
        ("SIGMOID", np.tanh(0.3 * product + 1)),
    ):
        how = {"gamma": 0.3, "offset": 1.0, "degree": 3.0}
        found = run(lambda a, b, k=kernel, h=how: ops.kernel_products(a, b, k, **h), x, v)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    with pytest.raises(BadArgument, match="no kernel"):
        ops.kernel_products(symbol([2, 3]), symbol([2, 3]), "COSINE")


def test_rows_and_gaps():
    x = np.float32([[3, -4], [0, 0]])
    for way, size in (("MAX", 4), ("L1", 7), ("L2", 5)):
        found = run(lambda v, w=way: ops.scaled_by(v, w), x)
        np.testing.assert_allclose(found, x / size, rtol=1e-6)
    holes = np.float32([[np.nan, 2], [3, np.nan]])
    fill = np.float32([7, 8])
    found = run(lambda v, f: ops.imputed(v, float("nan"), f), holes, fill)
    np.testing.assert_array_equal(found, [[7, 2], [3, 8]])
    found = run(lambda v, f: ops.imputed(v, 2, f), np.int64([[2, 2], [1, 2]]), np.int64([5, 6]))
    np.testing.assert_array_equal(found, [[5, 6], [1, 6]])
    np.testing.assert_array_equal(run(lambda v: ops.binarized(v, 1.0), holes[:, 1:]), [[1], [0]])
