"""Conversions between element types, in C++."""

from __future__ import annotations

from hidet.codegen.common.expressions import UNARY, ExpressionWriter, Text
from hidet.ir.expr import Cast, Const, Expr, NotEqual, convert
from hidet.types import DType, bf16, f16, f32, f64, i32, i64, tf32, u32
from hidet.types.dtypes import Kind


def cast_text(writer: ExpressionWriter, e: Cast) -> Text:
    """`e`, by way of another type where C++ has no direct or no defined conversion."""
    source, to = e.value.dtype, e.to
    between = stopover(source, to)
    if between is not None:
        return writer.text(convert(convert(e.value, between), to))
    if to.is_bool:
        return writer.text(NotEqual(e.value, zero(source)))
    if to is tf32:
        return writer.call("round_tf32", e.value)
    if to.bits == 8 and to.is_float:  # CUDA's own; of all others `passes.narrow_casts` made bytes
        return writer.call(f"to_{to.short}", e.value)
    if source is tf32 and to is f32:
        return writer.text(e.value)
    return f"({writer.type(to)}){writer.spell(e.value, UNARY)}", UNARY


def stopover(source: DType, to: DType) -> DType | None:
    """The type to convert to first; None for a direct conversion.

    Small floats go by float32, which holds them exactly. Floats to small or unsigned integers go by
    a signed type that holds the result, so that what is out of range wraps instead of being
    undefined.
    """
    small = (f16, bf16)
    if source.is_float and source.bits < 32 and to is not f32:
        return f32
    if to in small and source not in (f32, f64):
        return f32
    if to.is_float and (to.bits == 8 or to is tf32) and source is not f32:
        return f32
    if source.is_float and to.is_integer and to.bits < 32:
        return i32
    return i64 if source.is_float and to is u32 else None


def zero(of: DType) -> Expr:
    """0 of a type."""
    if of.is_bool:
        return Const(False, of)
    return Const(0.0 if of.kind is Kind.FLOAT else 0, of)
