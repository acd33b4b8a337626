"""Element types: conversions, which saturate to types of 8 bits, and bits read as another type."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet.types import DType, f8e4m3, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f8e8m0
from hidet_onnx.converters.table import onnx
from hidet_onnx.dtypes import element

FLOAT8 = (f8e4m3, f8e4m3fnuz, f8e5m2, f8e5m2fnuz)
"""The types to which conversions saturate, or else give infinities or NaN."""


@onnx("Cast", since=6)
def cast(x: Tensor, *, to: int, saturate: int = 1, round_mode: str = "up") -> Tensor:
    """Each element as another type."""
    return saturated(x, element(to), saturate, round_mode)


@onnx("CastLike", since=15)
def cast_like(x: Tensor, like: Tensor, *, saturate: int = 1, round_mode: str = "up") -> Tensor:
    """Each element as the other operand's type."""
    return saturated(x, like.dtype, saturate, round_mode)


@onnx("BitCast", since=26)
def bit_cast(x: Tensor, *, to: int) -> Tensor:
    """The bits of each element read as another type."""
    return ops.bitcast(x, element(to))


def saturated(x: Tensor, result: DType, saturate: int, round_mode: str = "up") -> Tensor:
    """The cast to a type; what is beyond those of 8 bits becomes their largest number."""
    if result is f8e8m0 and x.dtype is not f8e8m0:
        return ops.exponent_cast(x, rounding=round_mode, saturate=bool(saturate))  # type: ignore[arg-type]
    return ops.saturating_cast(x, result) if saturate and result in FLOAT8 else ops.cast(x, result)
