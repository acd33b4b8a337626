"""What each phase of an axis reads that is resized to a whole multiple of its size."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from hidet.ops.resampling.interpolation import weight_arrays
from hidet.types import Size

MOST = 8
"""Factors up to which phases are told apart: each is one more choice."""
STARTS = {"half_pixel": Fraction(1, 2), "asymmetric": Fraction(0)}
"""How far into the first old element the first new one lies, as a part of a new one, for the
coordinates in which all new elements of one phase lie alike."""

Starts = tuple[int, ...]
Weights = tuple[tuple[float, ...], ...]


def whole_factor(source: Size, count: Size, scale: float | None) -> int | None:
    """How many new elements there are for each old one; None if that is not known to be the same
    whole number for all, or is large."""
    if scale is None:
        if not (isinstance(source, int) and isinstance(count, int) and source):
            return None
        scale = count / source
    return int(scale) if scale in range(2, MOST + 1) else None


def phases(
    factor: int, mode: str, coordinates: str, rounding: str, coefficient: float
) -> tuple[Starts, Weights]:
    """For elements f * c + k, k from 0 until f: the first element that is read, less c, and the
    weights of it and those after it. The weight of the "nearest" one is 1."""
    start = STARTS[coordinates]
    places = [(k + start) / factor - start for k in range(factor)]
    if mode == "nearest":
        return tuple(nearest(each, rounding) for each in places), ((1.0,),) * factor
    before, taps = (1, 4) if mode == "cubic" else (0, 2)
    starts = tuple(math.floor(each) - before for each in places)
    distances = [
        [float(first + tap - at) for tap in range(taps)]
        for first, at in zip(starts, places, strict=True)
    ]
    weights = weight_arrays(np.array(distances), mode == "cubic", coefficient)
    return starts, tuple(tuple(float(each) for each in row) for row in weights)


def nearest(place: Fraction, rounding: str) -> int:
    """The number of the element nearest to a place."""
    half = Fraction(1, 2)
    return {
        "floor": math.floor(place),
        "ceil": math.ceil(place),
        "round_prefer_floor": math.ceil(place - half),
        "round_prefer_ceil": math.floor(place + half),
    }[rounding]
