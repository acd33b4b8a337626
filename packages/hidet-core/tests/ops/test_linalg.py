"""Systems, inverses and determinants: of all sizes, of singular matrices, and of those that need
their rows exchanged."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import from_numpy, symbol, trace_from, tracing
from hidet.testing.traced import traced


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_as_numpy_has_it(size):
    x = np.random.default_rng(size).normal(size=(2, 3, size, size)).astype(np.float32)
    wanted = np.linalg.det(x.astype(np.float64))
    np.testing.assert_allclose(traced(ops.det, x), wanted, rtol=2e-5, atol=1e-5)


def test_pivots():
    x = np.float32([[0, 2, 1], [3, 0, 1], [0, 0, 5]])
    np.testing.assert_allclose(traced(ops.det, x), -30)
    np.testing.assert_array_equal(traced(ops.det, np.zeros((4, 4), np.float32)), 0)
    same = np.float32([[1, 2, 3], [1, 2, 3], [4, 5, 7]])
    np.testing.assert_array_equal(traced(ops.det, same), 0)
    np.testing.assert_array_equal(traced(ops.det, np.ones((2, 0, 0), np.float32)), [1, 1])


def test_compiled():
    x = symbol(["n", 3, 3])
    with tracing():
        graph = trace_from(ops.det(x), [x])
    value = np.random.default_rng(0).normal(size=(7, 3, 3)).astype(np.float32)
    found = graph(from_numpy(value)).numpy()
    np.testing.assert_allclose(found, np.linalg.det(value.astype(np.float64)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (7, 7), (2, 3, 5, 5), (31, 31)])
def test_systems_and_inverses(shape):
    draw = np.random.default_rng(shape)
    a = draw.normal(size=shape).astype(np.float32)
    b = draw.normal(size=(*shape[:-1], 3)).astype(np.float32)
    exact = np.linalg.inv(a.astype(np.float64))
    bound = np.linalg.cond(a.astype(np.float64)).max() * 1e-6
    found = traced(ops.inverse, a)
    assert np.abs(found - exact).max() <= bound * np.abs(exact).max()
    wanted = exact @ b
    assert np.abs(traced(ops.solve, a, b) - wanted).max() <= bound * np.abs(wanted).max()


def test_systems_that_need_their_rows_exchanged():
    turned = np.float32([[0, 0, 2], [4, 0, 0], [0, 8, 0]])
    np.testing.assert_array_equal(traced(ops.inverse, turned) @ turned, np.eye(3))


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_signs_and_logarithms(size):
    x = np.random.default_rng(size).normal(size=(3, size, size)).astype(np.float32) * 3
    sign, logarithm = np.linalg.slogdet(x.astype(np.float64))
    found = traced(ops.slogdet, x)
    np.testing.assert_array_equal(found[0], sign)
    np.testing.assert_allclose(found[1], logarithm, rtol=1e-4, atol=1e-4)


def test_nothing_has_a_logarithm_where_the_determinant_is_zero():
    sign, logarithm = traced(ops.slogdet, np.zeros((4, 4), np.float32))
    assert sign == 0
    assert logarithm == -np.inf


def test_all_of_it_is_where_the_matrices_are():
    with tracing():
        assert ops.det(symbol((2, 3, 3), device="cuda:0")).device == "cuda:0"
