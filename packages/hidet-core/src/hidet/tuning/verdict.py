"""What candidates are run on, and what they have to compute: as data, for another process.

Where the definition is too long to evaluate everywhere it is evaluated at some elements, and the
first candidate that is right there is what the others are compared with everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from hidet.types import DType
from hidet.types import dtype as dtype_of

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Expected:
    """What a result is at some elements, by their flat positions; None: everywhere."""

    positions: Array | None
    values: Array
    dtype: str
    """The type in whose last places it may be off, which may be coarser than its own."""


@dataclass(frozen=True)
class Problem:
    """Inputs, and for each result what it has to be, up to `factor` units in the last place.

    `constants` are the positions of those inputs that are the same at all calls, `weights` the
    bytes of all constants of the graph that it is from.
    """

    inputs: tuple[Array, ...]
    expected: tuple[Expected, ...]
    factor: float
    constants: tuple[int, ...] = ()
    weights: int = 0


def constant_name(position: int) -> str:
    """The name that an archive has for the input at a position, if it is a constant."""
    return f"constant{position}"


def difference(found: Array, expected: Expected, factor: float) -> str:
    """How a result differs from what it has to be, in words; empty if it does not."""
    of = dtype_of(expected.dtype)
    flat = found.reshape(-1)
    values = flat if expected.positions is None else flat[expected.positions]
    wanted = expected.values.reshape(-1)
    if not of.is_float:
        wrong = values != wanted
        return f"{int(wrong.sum())} of {wrong.size} elements are wrong" if wrong.any() else ""
    return float_difference(values.astype(np.float64), wanted, of, factor)


def float_difference(values: Array, wanted: Array, of: DType, factor: float) -> str:
    """The same for floats: up to `factor` units of each value's, or of a typical one's, last."""
    finite = np.isfinite(wanted)
    typical = float(np.sqrt(np.mean(np.square(wanted[finite])))) if finite.any() else 0.0
    unit = float(ml_dtypes.finfo(of.numpy).eps)  # type: ignore[no-untyped-call]
    with np.errstate(invalid="ignore"):
        off = np.abs(values - wanted)
        alike = (values == wanted) | (np.isnan(values) & np.isnan(wanted))
        near = finite & (off <= factor * unit * (np.abs(wanted) + typical))
        wrong = ~(alike | near)
    if not wrong.any():
        return ""
    worst = int(np.argmax(np.where(wrong, np.nan_to_num(off, nan=np.inf), -1)))
    return (
        f"{int(wrong.sum())} of {wrong.size} elements are wrong: {values[worst]:.6g}, "
        f"not {wanted[worst]:.6g}"
    )
