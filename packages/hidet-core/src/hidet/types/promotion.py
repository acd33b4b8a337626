"""The type of a mixed expression."""

from __future__ import annotations

from hidet.types.dtypes import DType, Kind, f32, i4, i8, i16, i32, i64
from hidet.types.narrow import NARROW, keeps_codes

_RANK = {Kind.BOOL: 0, Kind.UNSIGNED: 1, Kind.SIGNED: 1, Kind.FLOAT: 2}


def promote(a: DType, b: DType) -> DType:
    """The smallest type that both fit, as PyTorch promotes tensors: float over integer over bool.

    float16 with bfloat16 is float32; an unsigned with a signed type of no more bits is the next
    wider signed type (int64 at most).
    """
    if a is b:
        return a
    if _RANK[a.kind] != _RANK[b.kind]:
        return a if _RANK[a.kind] > _RANK[b.kind] else b
    if a.is_float:
        return _promote_floats(a, b)
    if a.kind is b.kind:
        return a if a.bits >= b.bits else b
    signed, unsigned = (a, b) if a.kind is Kind.SIGNED else (b, a)
    if signed.bits > unsigned.bits:
        return signed
    return {2: i4, 4: i8, 8: i16, 16: i32}.get(unsigned.bits, i64)


def _promote_floats(a: DType, b: DType) -> DType:
    wide, narrow = (a, b) if a.bits > b.bits else (b, a)
    if a.bits == b.bits:  # float16 with bfloat16, two kinds of float8, float32 with tfloat32
        return f32
    # Not all types of more bits hold those of fewer: exponents alone fit no float16.
    return f32 if narrow in NARROW and not keeps_codes(wide, narrow) else wide
