"""Constants as C++ literals: exact, and of the right type."""

from __future__ import annotations

import math

import numpy as np

from hidet.errors import InternalError
from hidet.types import DType, f64, i32, i64, u32, u64


def integer(value: int, of: DType) -> str:
    """An integer literal; the smallest values need care, as C has no negative literals."""
    suffix = {i32: "", i64: "LL", u32: "u", u64: "ull"}.get(of)
    low, high = of.limits
    if not low <= value <= high:
        raise InternalError(f"the constant {value} does not fit {of}")
    if suffix is None:
        return f"({of.short}){value}" if value >= 0 else f"({of.short})({value})"
    if value == low and value < 0:
        return f"({value + 1}{suffix} - 1)"
    return f"{value}{suffix}"


def decimal(value: float, of: DType) -> str | None:
    """The shortest decimal that reads back as exactly `value`; None for infinities and NaN."""
    stored = of.numpy.type(value) if of is f64 else np.float32(value)
    if not math.isfinite(stored):
        return None
    return str(stored) + ("" if of is f64 else "f")


def pattern(value: float, of: DType) -> str:
    """The bits of `value` as `of`, in hexadecimal; every NaN is the canonical one."""
    if math.isnan(value):
        value = math.nan
    raw = np.asarray(value).astype(of.numpy).tobytes()[::-1]
    return f"0x{raw.hex()}"
