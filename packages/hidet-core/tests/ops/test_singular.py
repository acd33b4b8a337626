"""Singular values and what they tell, of matrices of all forms, deficient ones too."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import DtypeMismatch, NotYet, ShapeMismatch
from hidet.graph import symbol, tracing
from hidet.testing.traced import traced

FORMS = [(1, 1), (2, 2), (7, 3), (3, 8), (2, 5, 5), (13, 13), (37, 20)]


def random(shape, dtype=np.float32):
    return np.random.default_rng(shape).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("shape", FORMS)
def test_singular_values(shape):
    x = random(shape)
    wanted = np.linalg.svd(x.astype(np.float64), compute_uv=False)
    np.testing.assert_allclose(traced(ops.singular_values, x), wanted, rtol=2e-7, atol=1e-7)


@pytest.mark.parametrize("size", [2, 5, 40])
def test_singular_values_in_float64(size):
    x = random((size, size), np.float64)
    wanted = np.linalg.svd(x, compute_uv=False)
    np.testing.assert_allclose(traced(ops.singular_values, x), wanted, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_deficient_ones(rank):
    x = random((6, rank)) @ random((rank, 5))
    found = traced(ops.singular_values, x)
    np.testing.assert_allclose(found[rank:], 0, atol=1e-6)
    wanted = np.linalg.svd(x.astype(np.float64), compute_uv=False)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", FORMS)
def test_pseudo_inverses(shape):
    x = random(shape)
    found = traced(lambda a: ops.pseudo_inverse(a, lambda largest: largest * 1e-6), x)
    wanted = np.linalg.pinv(x.astype(np.float64))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())


def test_pseudo_inverses_take_what_is_small_to_zero():
    x = np.diag(np.float32([4, 1e-3, 0, 2]))
    found = traced(lambda a: ops.pseudo_inverse(a, lambda largest: largest * 1e-2), x)
    np.testing.assert_allclose(found, np.diag([0.25, 0, 0, 0.5]), atol=1e-7)


@pytest.mark.parametrize("size", [1, 2, 7, 30])
@pytest.mark.parametrize("lower", [False, True])
def test_eigenvalues_of_symmetric_matrices(size, lower):
    x = random((2, size, size))
    half = np.tril if lower else np.triu
    whole = half(x) + np.swapaxes(half(x, -1 if lower else 1), -1, -2)
    found = traced(lambda a: ops.symmetric_eigenvalues(a, lower=lower), x)
    wanted = np.linalg.eigvalsh(whole.astype(np.float64))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def test_values_of_both_signs_and_of_one_size():
    np.testing.assert_allclose(
        traced(ops.symmetric_eigenvalues, np.float32([[0, 2], [2, 0]])), [-2, 2], rtol=1e-7
    )
    np.testing.assert_allclose(traced(ops.singular_values, 3 * np.eye(9)), np.full(9, 3))
    np.testing.assert_allclose(
        traced(ops.singular_values, np.ones((4, 4))), [4, 0, 0, 0], atol=1e-9
    )


def test_nothing_has_none():
    assert traced(ops.singular_values, np.ones((2, 0, 3), np.float32)).shape == (2, 0)
    assert traced(ops.singular_values, np.ones((0, 3, 3), np.float32)).shape == (0, 3)
    empty = traced(lambda a: ops.pseudo_inverse(a, lambda s: s), np.ones((4, 0), np.float32))
    assert empty.shape == (0, 4)


def test_what_has_no_matrices_is_refused():
    with pytest.raises(ShapeMismatch, match="matrices"):
        ops.singular_values(symbol((3,)))
    with pytest.raises(DtypeMismatch, match="int32"):
        ops.singular_values(symbol((3, 3), dtype="i32"))
    with pytest.raises(NotYet, match="dynamic number"), tracing():
        ops.singular_values(symbol(["n", 3]))
    with pytest.raises(ShapeMismatch, match="square"):
        ops.symmetric_eigenvalues(symbol((3, 4)))
