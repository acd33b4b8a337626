"""Element types of PyTorch and of hidet, and PyTorch's rule for mixing them."""

from __future__ import annotations

from functools import reduce
from typing import Any

import torch

from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.ir.expr import Expr
from hidet.types import (
    DType,
    bf16,
    boolean,
    f8e4m3,
    f8e4m3fnuz,
    f8e5m2,
    f8e5m2fnuz,
    f8e8m0,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    promote,
    u8,
    u16,
    u32,
    u64,
)

TO_HIDET: dict[torch.dtype, DType] = {
    torch.float64: f64,
    torch.float32: f32,
    torch.float16: f16,
    torch.bfloat16: bf16,
    torch.float8_e4m3fn: f8e4m3,
    torch.float8_e5m2: f8e5m2,
    torch.float8_e4m3fnuz: f8e4m3fnuz,
    torch.float8_e5m2fnuz: f8e5m2fnuz,
    torch.float8_e8m0fnu: f8e8m0,
    torch.int8: i8,
    torch.int16: i16,
    torch.int32: i32,
    torch.int64: i64,
    torch.uint8: u8,
    torch.uint16: u16,
    torch.uint32: u32,
    torch.uint64: u64,
    torch.bool: boolean,
}
TO_TORCH: dict[DType, torch.dtype] = {hidet: own for own, hidet in TO_HIDET.items()}

PACKED = {"float4_e2m1fn_x2", "quint4x2", "quint2x4", "bits1x8", "bits2x4", "bits4x2"}
PACKED |= {f"{kind}{bits}" for kind in ("int", "uint") for bits in range(1, 8)}
"""Types whose elements take less than a byte: PyTorch keeps several in each, or means to."""

PARTS: dict[torch.dtype, torch.dtype] = {
    torch.complex32: torch.float16,
    torch.complex64: torch.float32,
    torch.complex128: torch.float64,
}
"""Complex types lie in memory as pairs of these: to hidet they are a last axis of size 2."""


def hidet_dtype(own: torch.dtype) -> DType:
    """The hidet type of a PyTorch type; of a complex one the type of its parts."""
    found = TO_HIDET.get(PARTS.get(own, own))
    if found is None:
        packed = str(own).rpartition(".")[2] in PACKED
        raise NotYet(f"elements of type {own}" + ", several in a byte" * packed)
    return found


def result_type(*operands: Tensor | float | Expr) -> DType:
    """The type in which PyTorch combines tensors and numbers.

    Tensors with dimensions come first, then 0-d tensors, then numbers: a later one changes the type
    only where it is of a higher kind (bool, integer, float).
    """
    tensors = [each for each in operands if isinstance(each, Tensor)]
    ranks = (
        [each.dtype for each in tensors if each.ndim],
        [each.dtype for each in tensors if not each.ndim],
        [number_type(each) for each in operands if not isinstance(each, Tensor)],
    )
    found: DType | None = None
    for rank in filter(None, ranks):
        found = lifted(found, reduce(promote, rank))
    assert found is not None
    return found


def lifted(high: DType | None, low: DType) -> DType:
    """A type of higher rank after one of lower rank joins."""
    if high is None:
        return low
    if high.is_float or not (high.is_bool or low.is_float):
        return high
    return promote(high, low)


def number_type(value: Any) -> DType:
    """The type of a Python number, or of a size that only a call tells."""
    if isinstance(value, bool):
        return boolean
    if isinstance(value, int | Expr):
        return i64
    if isinstance(value, float):
        return hidet_dtype(torch.get_default_dtype())
    raise NotYet(f"`{value}` as the value of an element")


def wide(of: DType) -> DType:
    """The type to compute several steps in before rounding once to `of`."""
    return f32 if of.is_float and of.bits < 32 else of
