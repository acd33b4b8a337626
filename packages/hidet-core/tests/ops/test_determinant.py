"""Determinants of all sizes, of singular matrices, and of those that need their rows exchanged."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import DtypeMismatch, ShapeMismatch
from hidet.graph import from_numpy, symbol, trace_from, tracing
from hidet.testing.defined import run


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_as_numpy_has_it(size):
    x = np.random.default_rng(size).normal(size=(2, 3, size, size)).astype(np.float32)
    wanted = np.linalg.det(x.astype(np.float64))
    np.testing.assert_allclose(run(ops.det, x), wanted, rtol=2e-5, atol=1e-5)


def test_pivots():
    x = np.float32([[0, 2, 1], [3, 0, 1], [0, 0, 5]])
    np.testing.assert_allclose(run(ops.det, x), -30)
    np.testing.assert_array_equal(run(ops.det, np.zeros((4, 4), np.float32)), 0)
    same = np.float32([[1, 2, 3], [1, 2, 3], [4, 5, 7]])
    np.testing.assert_array_equal(run(ops.det, same), 0)
    np.testing.assert_array_equal(run(ops.det, np.ones((2, 0, 0), np.float32)), [1, 1])


def test_compiled():
    x = symbol(["n", 3, 3])
    with tracing():
        graph = trace_from(ops.det(x), [x])
    value = np.random.default_rng(0).normal(size=(7, 3, 3)).astype(np.float32)
    found = graph(from_numpy(value)).numpy()
    np.testing.assert_allclose(found, np.linalg.det(value.astype(np.float64)), rtol=1e-5, atol=1e-6)


def test_what_has_no_determinant():
    with pytest.raises(ShapeMismatch, match="square matrices"):
        ops.det(symbol([2, 3]))
    with pytest.raises(DtypeMismatch, match="int32"):
        ops.det(symbol([2, 2], "int32"))


def test_all_of_it_is_where_the_matrices_are():
    with tracing():
        assert ops.det(symbol((2, 3, 3), device="cuda:0")).device == "cuda:0"
