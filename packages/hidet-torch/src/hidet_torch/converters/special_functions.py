"""Functions of `torch.special` that are computed by steps, in float64.

What is not defined for an element takes part in the steps with a harmless value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hidet import ops
from hidet.compute.sizes import broadcast, product
from hidet.graph import Tensor
from hidet.ops.elementwise.polygamma import BERNOULLI
from hidet.types import DType, boolean, f32, f64, i64
from hidet_torch.converters.elementwise import Operand
from hidet_torch.converters.polynomials import wide
from hidet_torch.converters.table import aten, require, torch
from hidet_torch.memory.dtypes import result_type

FAR = 10
"""From here on the terms of the sum are told by the series of Euler and Maclaurin."""


@torch(aten.special_zeta.default, aten.special_zeta.other_scalar, aten.special_zeta.self_scalar)
def zeta(power: Operand, start: Operand) -> Tensor:
    """The sum of 1 / (start + k)^power over k from 0; infinite at the poles, NaN where it has no
    sum."""
    of, s, q = together(power, start)
    is_whole, is_right = ops.equal(q, ops.floor(q)), ops.greater(q, 0.0)
    has_sum = ops.logical_or(is_right, ops.equal(s, ops.floor(s)))
    pole = ops.logical_or(ops.equal(s, 1.0), ops.logical_and(is_whole, ops.logical_not(is_right)))
    found = summed(ops.where(ops.greater(s, 1.0), s, 2.0), ops.where(has_sum, q, 1.0))
    missing = ops.logical_or(ops.logical_not(has_sum), ops.isnan(s + q))
    found = ops.where(missing, math.nan, found)
    found = ops.where(pole, math.inf, found)
    return ops.cast(ops.where(ops.less(s, 1.0), math.nan, found), of)


def summed(s: Tensor, q: Tensor) -> Tensor:
    """The first terms one by one, the others by their integral and its corrections."""
    count = ops.maximum(ops.ceil(FAR - ops.where(ops.isfinite(q), q, 1.0)), float(FAR))

    def iteration(k: Tensor, total: Tensor) -> tuple[None, Sequence[Tensor], Sequence[Tensor]]:
        at = ops.cast(k, f64)
        term = ops.pow(q + at, -s)
        return None, (total + ops.where(ops.less(at, count), term, 0.0),), ()

    trips = ops.cast(ops.max(count), i64)
    (found,), _, _ = ops.loop(iteration, (ops.zeros_like(q),), trips=trips)
    top = q + count
    last = ops.pow(top, -s)
    found = found + last * (top / (s - 1.0) + 0.5)
    factor = s * last / top
    for k, number in enumerate(BERNOULLI, 1):
        found = found + factor * (number / math.factorial(2 * k))
        factor = factor * (s + (2.0 * k - 1)) * (s + 2.0 * k) / (top * top)
    return found


MOST = 20000
"""Terms of incomplete gamma functions: those of 10^7 near their middle need as many."""
SMALL = 1e-15
"""The share of a sum, or the distance of a factor from 1, that changes it no more."""
FEW = 256
"""Elements up to which a CPU computes incomplete gamma functions: all take as many terms here as
the slowest needs, and PyTorch, which ends each on its own, a third of the time of many."""


@torch(aten.igamma.default)
def igamma(order: Tensor, x: Tensor) -> Tensor:
    """The part of gamma(order) whose integral goes from 0 to x."""
    return incomplete(order, x, is_lower=True)


@torch(aten.igammac.default)
def igammac(order: Tensor, x: Tensor) -> Tensor:
    """The part of gamma(order) whose integral goes from x on."""
    return incomplete(order, x, is_lower=False)


def incomplete(order: Tensor, x: Tensor, *, is_lower: bool) -> Tensor:
    """One of both parts, which add up to 1: below the order the lower one by its series, beyond it
    the upper one by its continued fraction."""
    of, a, v = together(order, x)
    count = product(a.shape)
    if count == 0:
        return ops.cast(a, of)
    is_few = isinstance(count, int) and count <= FEW
    require(a.device != "cpu" or is_few, f"incomplete gamma functions of over {FEW} on a CPU")
    plain = ops.logical_and(ops.greater(a, 0.0), ops.greater(v, 0.0))
    plain = ops.logical_and(plain, ops.logical_and(ops.isfinite(a), ops.isfinite(v)))
    inner, at = ops.where(plain, a, 1.0), ops.where(plain, v, 1.0)
    by_series = ops.logical_or(ops.less_equal(at, 1.0), ops.less(at, inner))
    scale = ops.exp(inner * ops.log(at) - at - ops.lgamma(inner))
    low = scale / inner * series(inner, ops.where(by_series, at, 0.0))
    high = scale * fraction(inner, ops.where(by_series, inner + 1.0, at))
    lower = ops.where(by_series, low, 1.0 - high)
    upper = ops.where(by_series, 1.0 - low, high)
    # Beyond every x, or every order, all of it lies on one side.
    is_all = ops.logical_or(ops.equal(a, 0.0), ops.isinf(v))
    edge = ops.cast(is_all if is_lower else ops.logical_not(is_all), f64)
    wrong = ops.logical_or(ops.less(a, 0.0), ops.less(v, 0.0))
    both = ops.logical_or(ops.equal(a + v, 0.0), ops.logical_and(ops.isinf(a), ops.isinf(v)))
    is_finite = ops.logical_not(ops.logical_or(ops.isinf(a), ops.isinf(v)))
    missing = ops.logical_and(is_finite, ops.isnan(a + v))
    wrong = ops.logical_or(ops.logical_or(wrong, both), missing)
    found = ops.where(plain, lower if is_lower else upper, edge)
    return ops.cast(ops.where(wrong, math.nan, found), of)


def series(a: Tensor, x: Tensor) -> Tensor:
    """The sum of x^n / ((a + 1) ... (a + n))."""

    def iteration(
        n: Tensor, term: Tensor, total: Tensor
    ) -> tuple[Tensor, Sequence[Tensor], Sequence[Tensor]]:
        term = term * x / (a + (ops.cast(n, f64) + 1.0))
        goes_on = ops.any(ops.greater(term, total * SMALL))
        return goes_on, (term, total + term), ()

    one = ops.ones_like(a)
    (_, found), _, _ = ops.loop(iteration, (one, one), trips=MOST, go_on=true(a))
    return found


def fraction(a: Tensor, x: Tensor) -> Tensor:
    """1 / (x + 1 - a - (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a ...))), by the ratios of
    neighbouring numerators and of denominators (Lentz)."""
    first = x + 1.0 - a

    def iteration(
        n: Tensor, c: Tensor, d: Tensor, found: Tensor
    ) -> tuple[Tensor, Sequence[Tensor], Sequence[Tensor]]:
        number = ops.cast(n, f64) + 1.0
        upper, below = number * (a - number), first + number * 2.0
        d = 1.0 / (below + upper * d)
        c = below + upper / c
        ratio = c * d
        goes_on = ops.any(ops.greater(ops.absolute(ratio - 1.0), SMALL))
        return goes_on, (c, d, found * ratio), ()

    huge, start = ops.full_like(a, 1e300), 1.0 / first
    (_, _, found), _, _ = ops.loop(iteration, (huge, start, start), trips=MOST, go_on=true(a))
    return found


def true(beside: Tensor) -> Tensor:
    """A condition that holds."""
    return ops.full((), True, boolean, device=beside.device)


def together(x: Operand, y: Operand) -> tuple[DType, Tensor, Tensor]:
    """The type of the results, and both operands in float64 and one shape."""
    of = result_type(x, y)
    a, b = wide(x, y), wide(y, x)
    shape = broadcast(a.shape, b.shape)
    return of if of.is_float else f32, ops.expand(a, shape), ops.expand(b, shape)
