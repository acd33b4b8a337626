"""Orthogonal factors: their product, their form, and that they are LAPACK's."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import DtypeMismatch, NotYet, ShapeMismatch
from hidet.graph import symbol, tracing
from hidet.testing.traced import traced

FORMS = [(1, 1), (2, 2), (7, 3), (3, 8), (2, 5, 5), (1, 4), (4, 1), (37, 20)]


def random(shape, dtype=np.float32):
    return np.random.default_rng(shape).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("shape", FORMS)
@pytest.mark.parametrize("complete", [False, True])
def test_factors(shape, complete):
    x = random(shape)
    q, r = traced(lambda a: ops.qr(a, complete=complete), x)
    wanted = np.linalg.qr(x.astype(np.float64), "complete" if complete else "reduced")
    np.testing.assert_allclose(q, wanted[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(r, wanted[1], rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("shape", FORMS)
def test_reflections_are_those_of_lapack(shape):
    x = random(shape, np.float64)
    packed, scales = traced(lambda a: tuple(ops.reflections(a)), x)
    raw = [np.linalg.qr(each, "raw") for each in x.reshape(-1, *shape[-2:])]
    wanted = np.stack([h.T for h, _ in raw]).reshape(shape)
    np.testing.assert_allclose(packed, wanted, rtol=1e-10, atol=1e-12)
    own = np.stack([tau for _, tau in raw]).reshape(scales.shape)
    np.testing.assert_allclose(scales, own, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("backwards", [False, True])
def test_products_with_them(backwards):
    x, y = random((2, 6, 4)), random((2, 6, 3))

    def function(a, b):
        return ops.reflected(ops.reflections(a), b, backwards=backwards)

    found = traced(function, x, y)
    q, _ = np.linalg.qr(x.astype(np.float64), "complete")
    wanted = (np.swapaxes(q, -1, -2) if backwards else q) @ y
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=2e-6)


def test_columns_that_are_zero_are_left():
    q, r = traced(ops.qr, np.zeros((4, 3), np.float32))
    np.testing.assert_array_equal(r, np.zeros((3, 3)))
    np.testing.assert_array_equal(q, np.eye(4, 3))


def test_what_has_no_matrices_is_refused():
    with pytest.raises(ShapeMismatch, match="matrices"):
        ops.qr(symbol((3,)))
    with pytest.raises(DtypeMismatch, match="int32"):
        ops.qr(symbol((3, 3), dtype="i32"))
    with pytest.raises(NotYet, match="dynamic number"), tracing():
        ops.reflections(symbol(["n", 3]))
