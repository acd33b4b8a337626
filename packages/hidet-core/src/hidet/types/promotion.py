"""The type of a mixed expression."""

from __future__ import annotations

from hidet.types.dtypes import DType, Kind, f8e8m0, f32, i4, i8, i16, i32, i64

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
    wide = a if a.bits > b.bits else b
    if a.bits == b.bits:  # float16 with bfloat16, two kinds of float8, float32 with tfloat32
        return f32
    # Powers of two from 2^-127 to 2^127 fit no type of fewer exponent bits.
    return f32 if f8e8m0 in (a, b) and wide.limits[1] < f8e8m0.limits[1] else wide
