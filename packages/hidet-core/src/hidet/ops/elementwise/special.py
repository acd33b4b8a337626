"""The gamma function's logarithm and its slope, and the inverse of the error function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hidet.compute import functions as f
from hidet.compute import select
from hidet.ir.expr import Expr, constant
from hidet.ir.functions import log_gamma
from hidet.ops.elementwise.families import unary
from hidet.types import f64

FAR = 12
"""From here on the first terms of its series tell the slope of log(gamma) to the last bit."""
SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
"""B(2k) / 2k, of Bernoulli's numbers: the slope is log(x) - 1 / 2x - sum of SERIES / x^2k."""


def slope(v: Expr) -> Expr:
    """The slope of log(gamma): by its series far from zero, to which steps of one lead; left of
    zero by reflection."""
    one, zero = constant(1, v.dtype), constant(0, v.dtype)
    below = v <= zero
    x = select(below, one - v, v)
    # Each step is counted from x: told from the step before, the last would be written 3^12 times.
    near = [x + step for step in range(FAR)]
    steps = sum((select(each < FAR, one / each, zero) for each in near), zero)
    far = x + sum((select(each < FAR, one, zero) for each in near), zero)
    inverse = one / (far * far)
    right = f.log(far) - one / (far * 2) - inverse * polynomial(inverse, SERIES) - steps
    fraction = v - f.rint(v)
    left = right - math.pi / f.tan(fraction * math.pi)
    pole = select(v.eq(zero), f.copysign(constant(math.inf, v.dtype), -v), math.nan)
    return select(below, select(fraction.eq(zero), pole, left), right)


def polynomial(x: Expr, factors: Sequence[float]) -> Expr:
    """The sum of factors times powers of x, the constant first."""
    found: Expr = constant(factors[-1], x.dtype)
    for each in reversed(factors[:-1]):
        found = found * x + each
    return found


CENTRE = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.000218580870, -4.39150654e-06,
    -3.5233877e-06, 3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
TAIL = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844,
    0.00134934322, 0.000100950558, -0.000200214257,
)  # fmt: skip
"""The inverse over x, as a polynomial of w = -log(1 - x²): of w - 2.5 below 5, of √w - 3 beyond.
Source: M. Giles, Approximating the erfinv function."""


def inverse_error(v: Expr) -> Expr:
    """The inverse of the error function: to the precision of float32 by two polynomials, of float64
    by three of Newton's steps more."""
    one = constant(1, v.dtype)
    w = -f.log((one - v) * (one + v))
    far = f.sqrt(w) - 3
    found = v * select(w < 5, polynomial(w - 2.5, CENTRE), polynomial(far, TAIL))
    if v.dtype is f64:
        for _ in range(3):
            found = found - newton(found, v)
    edge = f.copysign(constant(math.inf, v.dtype), v)
    return select(f.absolute(v).eq(one), edge, found)


def newton(y: Expr, v: Expr) -> Expr:
    """How far y is from where the error function is v: near its limits by what is left to these."""
    side = f.copysign(constant(1, v.dtype), v)
    beyond = side * ((1 - f.absolute(v)) - f.erfc(f.absolute(y)))
    missed = select(f.absolute(v) < 0.5, f.erf(y) - v, beyond)
    return missed * f.exp(y * y) * (math.sqrt(math.pi) / 2)


# ---- the same in float64, by other ways ---------------------------------------------------------


def each(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function of numbers on arrays."""
    return np.vectorize(function, otypes=[np.float64])


def slope_of(x: float) -> float:
    """The slope of log(gamma), from much farther out."""
    if x <= 0:
        if x == round(x):
            return math.copysign(math.inf, -x) if x == 0 else math.nan
        return slope_of(1 - x) - math.pi / math.tan(math.pi * math.remainder(x, 1))
    near = [1 / (x + step) for step in range(40)]
    far = x + 40
    series = sum(factor / far ** (2 * k) for k, factor in enumerate(SERIES[:5], 1))
    return math.log(far) - 1 / (2 * far) - series - math.fsum(near)


def inverse_of(x: float) -> float:
    """Where the error function is x, by halving."""
    if not abs(x) < 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    low, high, left = 0.0, 6.0, 1 - abs(x)
    for _ in range(80):
        middle = (low + high) / 2
        is_low = math.erf(middle) < abs(x) if abs(x) < 0.5 else math.erfc(middle) > left
        low, high = (middle, high) if is_low else (low, middle)
    return math.copysign(low, x)


lgamma = unary(
    "lgamma", "log(|gamma(x)|).", f.lgamma, log_gamma,
    gives="float", within=(-3, 9), factor=64,
)  # fmt: skip
digamma = unary(
    "digamma", "The derivative of log(gamma(x)); NaN at negative whole numbers.", slope,
    each(slope_of), gives="float", within=(0.1, 20), factor=64,
)  # fmt: skip
erfinv = unary(
    "erfinv", "The inverse of the error function, for x from -1 to 1.", inverse_error,
    each(inverse_of), gives="float", within=(-1, 1), factor=16,
)  # fmt: skip
