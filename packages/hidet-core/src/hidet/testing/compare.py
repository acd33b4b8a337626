"""Comparing with float64: how far a result may be off, in units of its type's last place."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from hidet.types import DType


def assert_close(found: Any, expected: Any, dtype: DType, factor: float) -> None:
    """Equal up to `factor` units in the last place, of each value or of a typical one (its RMS).

    Integers and truth values have to be equal; NaN and infinities have to be in the same places.
    """
    if not dtype.is_float:
        np.testing.assert_array_equal(found, expected)
        return
    epsilon = float(ml_dtypes.finfo(dtype.numpy).eps)  # type: ignore[no-untyped-call]
    wide = np.asarray(expected, np.float64)
    finite = wide[np.isfinite(wide)]
    scale = math.sqrt(np.mean(np.square(finite))) if finite.size else 0.0
    np.testing.assert_allclose(
        np.asarray(found).astype(np.float64),
        wide,
        rtol=factor * epsilon,
        atol=factor * epsilon * scale,
    )
