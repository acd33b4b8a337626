"""Quantisation: real numbers as integers with a scale and a zero point, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, elementwise
from hidet.compute.functions import rint
from hidet.compute.sizes import broadcast, numbers
from hidet.errors import BadArgument, DtypeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, constant
from hidet.ir.functions import clamped
from hidet.ops.indexing.selection import repeat_interleave
from hidet.ops.tensors.create import full
from hidet.ops.tensors.shape import reshape
from hidet.ops.tensors.slicing import slice as cut
from hidet.types import DType, TensorType, bf16, f8e4m3, f16, f32, f64, i4, i8, i16, i32, u8
from hidet.types import dtype as dtype_of


def quantize(
    x: Tensor, scale: Tensor, zero_point: Tensor | None = None, *, dtype: Any = None,
    axis: int = 1, block: int = 0,
) -> Tensor:  # fmt: skip
    """x / scale, rounded to the nearest (ties to even), plus zero_point, within the bounds of an
    integer type: that of the zero point, or `dtype`, by default uint8.

    `scale` and `zero_point` have one element for all of x, one for each place on `axis`, or as many
    axes as x and one element for each `block` places on `axis`. Source: ONNX QuantizeLinear-25.
    """
    result = dtype_of(dtype or (u8 if zero_point is None else zero_point.dtype))
    return apply(Quantize, x, *spread(x, scale, zero_point, axis, block), dtype=result)


def dequantize(
    x: Tensor, scale: Tensor, zero_point: Tensor | None = None, *, dtype: Any = None,
    axis: int = 1, block: int = 0,
) -> Tensor:  # fmt: skip
    """(x - zero_point) * scale as `dtype`, by default the scale's; the rest as `quantize` has it.

    Source: ONNX DequantizeLinear-25.
    """
    result = dtype_of(dtype or scale.dtype)
    return apply(Dequantize, x, *spread(x, scale, zero_point, axis, block), dtype=result)


def spread(
    x: Tensor, scale: Tensor, zero_point: Tensor | None, axis: int, block: int
) -> tuple[Tensor, Tensor | None]:
    """A scale and a zero point so that both broadcast to x; None for one that is 0 everywhere."""
    zero = known_number(zero_point)
    if zero is not None:
        zero = for_each(zero, x, axis, block)
    return for_each(scale, x, axis, block), zero


def for_each(of: Tensor, x: Tensor, axis: int, block: int) -> Tensor:
    """A scale or zero point of a whole tensor, of an axis or of blocks, so that it broadcasts."""
    if of.ndim == 0 or of.size == 1:
        return reshape(of, ())
    where = axis % x.ndim
    if of.ndim == 1 and not block:
        return reshape(of, (-1, *(1,) * (x.ndim - 1 - where)))
    if of.ndim != x.ndim or block < 1:
        raise BadArgument(
            f"scales of {of.ndim} axes and blocks of {block} for {x.ndim} axes",
            help="one scale, one for each place on an axis, or one for each block on an axis",
        )
    return cut(repeat_interleave(of, block, where), where, 0, x.shape[where])


def known_number(zero_point: Tensor | None) -> Tensor | None:
    """A constant that is one number everywhere as that number, and None if that is 0.

    So graphs say what zero points are: passes do not look at the values of constants, since a
    compiled graph is used again for other constants.
    """
    if zero_point is None or zero_point.storage is None:
        return zero_point
    elements = np.unique(zero_point.cpu().numpy())
    if len(elements) != 1:
        return zero_point
    value = elements[0].item()
    return full((), value, zero_point.dtype, device=zero_point.device) if value else None


@operator("quantize")
class Quantize(Op):
    """round(x / scale) + zero_point within the bounds of an integer type; operands broadcast to x.

    It is computed in float32, or in float64 where x or the scale is. NaN becomes the largest.
    """

    x: TensorType
    scale: TensorType
    zero_point: TensorType | None
    dtype: DType

    def infer(self) -> TensorType:
        if not self.dtype.is_integer:
            raise DtypeMismatch(f"numbers are quantized to integers, not to {self.dtype.name}")
        return self.dtype[with_scales(self.x, self.scale, self.zero_point)]

    def define(self, x: Grid, scale: Grid, zero_point: Grid | None) -> Grid:
        wide = f64 if f64 in (self.x.dtype, self.scale.dtype) else f32
        low, high = (constant(each, wide) for each in self.dtype.limits)

        def element(value: Expr, unit: Expr, *zero: Expr) -> Expr:
            found = rint(value.cast(wide) / unit.cast(wide))
            for each in zero:
                found = found + each.cast(wide)
            return clamped(found, low, high).cast(self.dtype)

        return elementwise(element, x, scale, *([] if zero_point is None else [zero_point]))

    def reference(self, x: Any, scale: Any, zero_point: Any) -> Any:
        found = np.rint(x / scale) + (0 if zero_point is None else zero_point)
        return np.clip(found, *self.dtype.limits)

    def examples(self, seed: int) -> list[Any]:
        """Quotients that are no ties but for a few, which are exact in every type."""
        x, _, *zero = super().examples(seed)
        rng = np.random.default_rng(seed)
        powers = rng.integers(-4, 4, numbers(self.scale.shape))
        scale = np.asarray(np.exp2(powers), self.scale.dtype.numpy)
        whole = rng.integers(-400, 400, x.shape) / 2 + rng.choice([0, 0.125], x.shape)
        return [(whole * scale).astype(x.dtype), scale, *zero]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[5, 17], f32[()], u8[()], u8)
        yield cls(f32[3, 4, 5], f32[4, 1], i8[4, 1], i8)
        yield cls(f16[3, 8], f16[3, 8], None, i4)
        yield cls(f64[7], f64[()], i16[()], i16)
        yield cls(bf16[2, 9], f32[()], None, u8)
        yield cls(f32[0, 3], f32[()], u8[()], u8)


@operator("dequantize")
class Dequantize(Op):
    """(x - zero_point) * scale; operands broadcast to x.

    The difference is exact; the product is rounded to float32, or to float64 where that is asked
    for, before it is rounded to the result.
    """

    x: TensorType
    scale: TensorType
    zero_point: TensorType | None
    dtype: DType

    def infer(self) -> TensorType:
        if not self.dtype.is_float:
            raise DtypeMismatch(f"numbers are dequantized to floats, not to {self.dtype.name}")
        return self.dtype[with_scales(self.x, self.scale, self.zero_point)]

    def define(self, x: Grid, scale: Grid, zero_point: Grid | None) -> Grid:
        exact = f32 if self.x.dtype.is_float else i32
        wide = f64 if self.dtype is f64 else f32

        def element(value: Expr, unit: Expr, *zero: Expr) -> Expr:
            found = value.cast(exact)
            for each in zero:
                found = found - each.cast(exact)
            return (found.cast(wide) * unit.cast(wide)).cast(self.dtype)

        return elementwise(element, x, scale, *([] if zero_point is None else [zero_point]))

    def reference(self, x: Any, scale: Any, zero_point: Any) -> Any:
        whole = x.astype(np.float64)
        return (whole - (0 if zero_point is None else zero_point)) * scale

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(u8[5, 17], f32[()], u8[()], f32)
        yield cls(i8[3, 4, 5], f32[4, 1], i8[4, 1], f32)
        yield cls(i4[3, 8], f16[3, 8], None, f16)
        yield cls(i32[7], f64[()], None, f64)
        yield cls(f8e4m3[2, 9], f32[()], None, f32)
        yield cls(u8[0, 3], f32[()], u8[()], bf16)


def with_scales(x: TensorType, *others: TensorType | None) -> Any:
    """The shape of x, to which scales and zero points have to broadcast."""
    shapes = [each.shape for each in others if each is not None]
    return broadcast(x.shape, *shapes)
