"""Interpolation: what an element counts by its distance from the place asked for, and the sum."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce as fold
from operator import add
from typing import Any

import numpy as np

from hidet.compute import maximum, minimum, reduce, select
from hidet.compute.functions import absolute, rint
from hidet.ir.expr import Const, Expr, constant
from hidet.types import DType, i32

UNROLLED = 16
"""How many elements are added up one by one; more are a loop."""


def added(taps: Sequence[int], term: Callable[..., Expr]) -> Expr:
    """The sum of `term` over all indices below `taps`."""
    if math.prod(taps) > UNROLLED:
        return reduce(tuple(taps), term, "sum")
    every = itertools.product(*map(range, taps))
    terms: Iterator[Expr] = (term(*(Const(tap, i32) for tap in at)) for at in every)
    return fold(add, terms)


def held(value: Expr, dtype: DType) -> Expr:
    """A sum in a type: of integers rounded, halves to even, and held in the type's range."""
    if value.dtype is dtype or dtype.is_float or not value.dtype.is_float:
        return value.cast(dtype)
    low, high = (constant(float(each), value.dtype) for each in dtype.limits)
    return minimum(maximum(rint(value), low), high).cast(dtype)


def linear_weight(distance: Expr) -> Expr:
    """The hat function: 1 at distance 0, 0 from distance 1 on."""
    return maximum(1.0 - absolute(distance), constant(0, distance.dtype))


def cubic_weight(distance: Expr, coefficient: float) -> Expr:
    """The cubic convolution of Keys 1981 (doi 10.1109/TASSP.1981.1163711): 0 from distance 2 on."""
    a, d = coefficient, absolute(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return select(d <= 1, near, select(d < 2, far, constant(0, distance.dtype)))


def weight_arrays(distance: Any, cubic: bool, coefficient: float) -> Any:
    """Either function of an array, for references."""
    d, a = np.abs(distance), coefficient
    if not cubic:
        return np.clip(1 - d, 0, None)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))
