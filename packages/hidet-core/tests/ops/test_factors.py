"""Triangular factors and systems, against float64, of one matrix and of many, in any type."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import DtypeMismatch, ShapeMismatch
from hidet.graph import from_numpy, symbol, trace_from, tracing
from hidet.graph.dims import size_symbol
from hidet.testing.traced import traced

SHAPES = [(1, 1), (2, 2), (7, 7), (2, 3, 5, 5), (3, 13, 13)]


def random(*shape, dtype=np.float32):
    return np.random.default_rng(shape).standard_normal(shape).astype(dtype)


def positive(*shape, dtype=np.float32):
    x = random(*shape, dtype=np.float64)
    return (x @ x.swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def close(found, wanted, dtype=np.float32):
    assert found.dtype == dtype
    tolerance = 1e-10 if dtype == np.float64 else 2e-4
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_factors_of_exchanged_rows(shape, dtype):
    x = random(*shape, dtype=dtype)
    packed, order, pivots, rest = traced(ops.lu, x)
    lower = np.tril(packed, -1) + np.eye(shape[-1])
    wanted = np.take_along_axis(x, order[..., None], -2)
    close((lower @ np.triu(packed)).astype(dtype), wanted, dtype)
    assert np.abs(np.tril(packed, -1)).max() <= 1
    assert rest.shape == (*shape[:-1], 0)
    assert (pivots >= np.arange(shape[-1])).all()
    exchanged = np.broadcast_to(np.arange(shape[-1]), shape[:-1]).copy().reshape(-1, shape[-1])
    for rows, places in zip(exchanged, pivots.reshape(exchanged.shape), strict=True):
        for step, place in enumerate(places):
            rows[[step, place]] = rows[[place, step]]
    np.testing.assert_array_equal(exchanged.reshape(order.shape), order)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_cholesky_reads_the_lower_triangle(shape, dtype):
    x = positive(*shape, dtype=dtype)
    wanted = np.linalg.cholesky(x.astype(np.float64))
    upper = np.triu(np.full(shape[-2:], np.nan), 1).astype(dtype)
    close(traced(ops.cholesky, np.tril(x) + upper), wanted, dtype)


def test_no_matrix_that_is_not_positive_has_a_root():
    assert np.isnan(traced(ops.cholesky, -np.eye(3, dtype=np.float32))).any()


@pytest.mark.parametrize("unit_diagonal", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_triangular_systems(shape, lower, unit_diagonal):
    a = random(*shape) / 4 + 2 * np.eye(shape[-1], dtype=np.float32)
    b = random(*shape[:-1], 4)
    triangle = (np.tril if lower else np.triu)(a.astype(np.float64))
    if unit_diagonal:
        diagonal = np.eye(shape[-1], dtype=bool)
        triangle = np.where(diagonal, 1, triangle)
        a = np.where(diagonal, np.float32(np.nan), a)
    other = np.tril(np.full(shape[-2:], np.nan), -1)
    given = a + (other.T if lower else other).astype(np.float32)
    found = traced(
        lambda a, b: ops.triangular_solve(a, b, lower=lower, unit_diagonal=unit_diagonal), given, b
    )
    close(found, np.linalg.solve(triangle, b))


def test_narrow_types_are_computed_in_float32():
    x = positive(5, 5).astype(np.float16)
    found = traced(ops.cholesky, x)
    assert found.dtype == np.float16
    wanted = np.linalg.cholesky(x.astype(np.float64))
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_on_a_gpu_as_it_is_simulated(size):
    x, b = positive(size, size), random(size, 3)
    close(traced(ops.cholesky, x, target="sim"), np.linalg.cholesky(x.astype(np.float64)))
    close(traced(ops.solve, x, b, target="sim"), np.linalg.solve(x.astype(np.float64), b))


@pytest.mark.gpu
@pytest.mark.parametrize("size", [1, 7, 64])
def test_on_a_gpu(size):
    a, b = positive(2, size, size), random(2, size, 3)
    x, right = (symbol(each.shape, device="cuda") for each in (a, b))
    with tracing():
        graph = trace_from((ops.solve(x, right), ops.cholesky(x)), [x, right])
    wide = a.astype(np.float64)
    for _ in range(2):
        found = graph(*(from_numpy(each).to("cuda") for each in (a, b)))
        wanted = np.linalg.solve(wide, b), np.linalg.cholesky(wide)
        for tensor, each in zip(found, wanted, strict=True):
            close(tensor.cpu().numpy(), each)


def test_open_sizes():
    n, k, m = map(size_symbol, "nkm")
    x, b = symbol([n, k, k]), symbol([n, k, m])
    with tracing():
        graph = trace_from(ops.solve(x, b), [x, b])
    for n, k, m in ((1, 2, 7), (3, 17, 1)):
        a, right = positive(n, k, k), random(n, k, m)
        found = graph(from_numpy(a), from_numpy(right)).numpy()
        close(found, np.linalg.solve(a.astype(np.float64), right))


@pytest.mark.parametrize("function", [ops.lu, ops.cholesky, ops.det, ops.inverse, ops.slogdet])
def test_what_is_no_square_matrix(function):
    with pytest.raises(ShapeMismatch, match="square matrices"):
        function(symbol([2, 3]))
    with pytest.raises(DtypeMismatch, match="int32"):
        function(symbol([2, 2], "int32"))


@pytest.mark.parametrize("function", [ops.solve, ops.triangular_solve])
def test_what_is_no_right_hand_side(function):
    with pytest.raises(ShapeMismatch, match="right-hand sides"):
        function(symbol([3, 2, 2]), symbol([3, 2]))
    with pytest.raises(ShapeMismatch, match="right-hand sides"):
        function(symbol([2, 2]), symbol([3, 2]))
    with pytest.raises(DtypeMismatch, match="of one type"):
        function(symbol([2, 2]), symbol([2, 2], "float64"))
