"""Quotients that are rounded to whole numbers within narrow bounds, as quantization does it."""

from __future__ import annotations

from hidet.ir.expr import (
    Add,
    Cast,
    Const,
    Div,
    Expr,
    Math,
    Select,
    Sub,
    constant,
    is_vector,
    select,
)
from hidet.ir.folding import lossless
from hidet.ir.functions import QUOTIENT, call, clamped
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.rewrite import Rules
from hidet.ir.walk import rebuild_body
from hidet.passes.base import kernel_pass, with_body
from hidet.types import f32, i8, i32, u8

BYTES = (i8, u8)
LARGEST = 256
"""Bounds up to which the function is right, either way."""
ZERO = constant(0, i32)

quantized = Rules("quantized")
bounded = Rules("bounded")


@kernel_pass()
def round_quotients(kernel: Kernel) -> Kernel:
    """Name what quantization computes, so that it takes no division for each element.

    before   y = u8(clamped(rint(x / s) + 3.0, 0.0, 255.0))
    after    y = u8(rounded_quotient(x, s, -3.0, 252.0) + 3)
    CPU      y = u8(max(i32(rint(min(x / s, 252.0))), -3) + 3)

    What is dequantized again in the same kernel does not become a byte in between. On CPUs
    compilers make vectors of the quotient, which is written out.
    """
    named = rebuild_body(kernel.body, quantized.settle)
    if kernel.kind is not KernelKind.CUDA:
        named = rebuild_body(named, bounded.settle)
    return with_body(kernel, named)


@bounded
def written_out(e: Math) -> Expr | None:
    """A rounded quotient by a bound before it is rounded, which NaN becomes too, and one after it:
    a conversion to int32 makes the least integer of what is too small for one. Compilers have one
    instruction for each, where two choices in a row become comparisons, masks and blends."""
    if e.name != QUOTIENT.name:
        return None
    x, scale, low, high = e.args
    found = x if scale is constant(1.0, f32) else x / scale
    whole, least = call("rint", select(found < high, found, high)).cast(i32), low.cast(i32)
    return select(whole > least, whole, least)


@quantized
def wider_constant(e: Cast) -> Expr | None:
    """An integer constant as one of a wider type."""
    match e:
        case Cast(Const(value, of), to) if to.is_integer and lossless(of, to):
            return constant(value, to)
    return None


@quantized
def quotient(e: Cast) -> Expr | None:
    """A rounded quotient within bounds, plus a zero point, as an integer."""
    match e:
        case Cast(
            Select(then=Select(then=found, otherwise=Const(top)), otherwise=Const(bottom)) as whole
        ) if e.to.is_integer and whole.type is f32 and not is_vector(whole):
            bounds = constant(bottom, f32), constant(top, f32)
            operands, zero = quotient_of(found)
            ends = [each for each in (shifted(each, zero) for each in bounds) if each is not None]
            if operands and len(ends) == 2 and clamped(found, *bounds) is whole:
                value = Math(QUOTIENT.name, (*operands, *ends), i32)
                return (value if zero is ZERO else value + zero).cast(e.to)
    return None


def quotient_of(found: Expr) -> tuple[tuple[Expr, Expr] | None, Expr]:
    """What is divided by what and then rounded, and what is added to it, as an int32."""
    match found:
        case Math("rint", (Div(x, scale),)):
            return (x, scale), ZERO
        case Math("rint", (x,)):
            return (x, constant(1.0, f32)), ZERO
        case Add(rounded, Cast(zero)) if zero.dtype in BYTES:
            return quotient_of(rounded)[0], zero.cast(i32)
        case Add(rounded, Const(zero)) if zero == int(zero):
            return quotient_of(rounded)[0], constant(int(zero), i32)
    return None, ZERO


def shifted(bound: Const, zero: Expr) -> Expr | None:
    """A bound less the zero point; None if it may be too large, or no whole number."""
    match zero:
        case Const(value) | Cast(Const(value)):
            end = bound.value - value
            return constant(end, f32) if abs(end) <= LARGEST and end == int(end) else None
        case Cast(Expr() as byte) if byte.dtype.limits[0] <= bound.value <= byte.dtype.limits[1]:
            return constant(bound.value, f32) - byte.cast(f32)
    return None


@quantized
def byte_and_back(e: Cast) -> Expr | None:
    """A quantized value that a byte holds, as an integer: it needs not become one."""
    match e:
        case Cast(Cast(value, of), to) if of in BYTES and to is i32 and fits(value, of.limits):
            return value
    return None


def fits(value: Expr, limits: tuple[float, float]) -> bool:
    """Whether a rounded quotient plus a constant is certainly within limits."""
    zero = 0
    match value:
        case Add(inner, Const(shift)):
            value, zero = inner, int(shift)
    match value:
        case Math("rounded_quotient", (_, _, Const(low), Const(high))):
            return limits[0] <= low + zero and high + zero <= limits[1]
    return False


@quantized
def zero_and_back(e: Sub) -> Expr | None:
    """An integer to which the same was added, or from which nothing is subtracted."""
    match e:
        case Sub(Add(value, zero), other) if zero is other and e.type is i32:
            return value
        case Sub(value, Const(0)) if e.type is i32:
            return value
    return None
