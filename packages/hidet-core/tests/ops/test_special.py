"""Special functions at their poles and ends, and by what they are known for."""

import math

import numpy as np
import pytest

from hidet import ops
from hidet.testing.traced import traced

INFINITE, NAN = math.inf, math.nan
PLACES = {
    "lgamma": [(0.0, INFINITE), (-3.0, INFINITE), (1.0, 0), (2.0, 0), (INFINITE, INFINITE)],
    "digamma": [(0.0, -INFINITE), (-0.0, INFINITE), (-3.0, NAN), (1.0, -0.5772156649015329)],
    "erfcx": [(0.0, 1), (INFINITE, 0), (-INFINITE, INFINITE)],
    "modified_bessel_k0": [(0.0, INFINITE), (-1.0, NAN), (INFINITE, 0)],
    "scaled_modified_bessel_k1": [(0.0, INFINITE), (-1.0, NAN), (INFINITE, 0)],
    "scaled_modified_bessel_i0": [(0.0, 1), (INFINITE, 0), (-INFINITE, 0)],
    "scaled_modified_bessel_i1": [(0.0, 0), (INFINITE, 0)],
    "spherical_bessel_j0": [(0.0, 1), (INFINITE, 0)],
    "erfinv": [(0.0, 0), (1.0, INFINITE), (-1.0, -INFINITE), (1.5, NAN), (-2.0, NAN)],
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PLACES)
def test_poles_and_ends(name, dtype):
    given, wanted = np.array([*PLACES[name], (NAN, NAN)]).T
    given = given.astype(dtype)
    np.testing.assert_allclose(traced(getattr(ops, name), given), wanted, rtol=1e-6, atol=1e-6)


def test_derivatives_of_digamma_are_reflected_at_a_half():
    """psi_n(1 - x) (-1)^n - psi_n(x) is the derivative number n of pi / tan(pi x)."""
    x = np.linspace(-7.9, 0.4, 84)
    x = x[np.abs(x - np.rint(x)) > 0.05]
    sine, cosine = np.sin(np.pi * x), np.cos(np.pi * x)
    slopes = {1: -((np.pi / sine) ** 2), 2: 2 * np.pi**3 * cosine / sine**3}
    for order, wanted in slopes.items():
        found = traced(lambda v, n=order: ops.polygamma(n, v), x)
        mirrored = traced(lambda v, n=order: ops.polygamma(n, v), 1 - x)
        np.testing.assert_allclose((-1) ** order * mirrored - found, wanted, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_modified_bessel_functions_are_one_over_x(dtype):
    """I0 K1 + I1 K0, scaled or not: on both sides of where series end."""
    x = np.concatenate([np.linspace(0.05, 3, 101), np.linspace(7, 60, 101)]).astype(dtype)
    found = traced(
        lambda v: (
            ops.scaled_modified_bessel_i0(v) * ops.scaled_modified_bessel_k1(v)
            + ops.scaled_modified_bessel_i1(v) * ops.scaled_modified_bessel_k0(v)
        ),
        x,
    )
    near = x[x < 60]
    np.testing.assert_allclose(found * x, 1, rtol=8 * np.finfo(dtype).eps, atol=0)
    plain = traced(
        lambda v: (
            ops.modified_bessel_i0(v) * ops.modified_bessel_k1(v)
            + ops.modified_bessel_i1(v) * ops.modified_bessel_k0(v)
        ),
        near,
    )
    np.testing.assert_allclose(plain * near, 1, rtol=16 * np.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize(("dtype", "close"), [(np.float32, 2e-6), (np.float64, 1e-13)])
def test_the_error_function_undoes_its_inverse(dtype, close):
    ends = 1 - np.geomspace(1e-6, 0.5, 301)
    x = np.concatenate([np.linspace(-0.99, 0.99, 301), ends, -ends]).astype(dtype)
    found = traced(ops.erfinv, x)
    again = np.vectorize(math.erf)(found.astype(np.float64))
    np.testing.assert_allclose(again, x, rtol=close, atol=0)


@pytest.mark.parametrize(("dtype", "close"), [(np.float32, 2e-5), (np.float64, 1e-11)])
def test_the_slope_grows_by_one_over_x(dtype, close):
    x = np.concatenate([np.linspace(0.25, 40, 301), np.linspace(-9.9, -0.1, 98)]).astype(dtype)
    x = x[np.abs(x - np.rint(x)) > 0.05]
    # In the type of x, one more is another number.
    wanted = 1 / x.astype(np.float64)
    found = traced(lambda x: ops.digamma(x + 1.0) - ops.digamma(x), x)
    np.testing.assert_allclose(found, wanted, rtol=close, atol=close * 10)


def test_logarithms_of_gamma_are_those_of_math():
    x = np.linspace(-9.95, 50, 1201)
    wanted = np.vectorize(math.lgamma)(x)
    np.testing.assert_allclose(traced(ops.lgamma, x), wanted, rtol=1e-12, atol=1e-12)
