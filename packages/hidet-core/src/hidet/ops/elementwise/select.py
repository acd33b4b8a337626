"""Choices between elements: where, clamp, triangles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, elementwise, grid, maximum, minimum, select
from hidet.compute.sizes import broadcast
from hidet.errors import BadArgument, DtypeMismatch, ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, constant
from hidet.ops.elementwise.families import pair, pair_type
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import Number, Scalar, scalar_type
from hidet.types import DType, TensorType, bf16, boolean, f16, f32, i8, i32, i64, promote


def where(
    condition: Tensor, x: Tensor | Scalar, y: Tensor | Scalar, *, dtype: DType | None = None
) -> Tensor:
    """`x` where `condition` holds, else `y`; all three broadcast."""
    return apply(Where, condition, *pair(x, y), dtype=pair_type(x, y, dtype))


def masked_fill(x: Tensor, mask: Tensor, value: Number) -> Tensor:
    """`value` where `mask` holds, else `x`; the type stays that of `x`."""
    return where(mask, value, x, dtype=x.dtype)


def clamp(x: Tensor, low: Number | None = None, high: Number | None = None) -> Tensor:
    """`x` but at least `low` and then at most `high`; NaN stays NaN."""
    if low is None and high is None:
        raise BadArgument("clamp without bounds", help="give low, high or both")
    of = x.dtype
    for bound in (low, high):
        of = of if bound is None else promote(of, scalar_type(bound, of))
    return apply(Clamp, cast(x, of), low=low, high=high)


def tril(x: Tensor, diagonal: int = 0) -> Tensor:
    """The elements on and below a diagonal of the last two axes, zero elsewhere."""
    return apply(Triangle, x, diagonal=diagonal, upper=False)


def triu(x: Tensor, diagonal: int = 0) -> Tensor:
    """The elements on and above a diagonal of the last two axes, zero elsewhere."""
    return apply(Triangle, x, diagonal=diagonal, upper=True)


@operator("where")
class Where(Op):
    """x where the condition holds, else y."""

    condition: TensorType
    x: TensorType
    y: TensorType
    dtype: DType | None = None

    def infer(self) -> TensorType:
        if not self.condition.dtype.is_bool:
            raise DtypeMismatch(f"where takes a bool condition, not {self.condition.dtype.name}")
        shape = broadcast(self.condition.shape, self.x.shape, self.y.shape)
        return (self.dtype or promote(self.x.dtype, self.y.dtype))[shape]

    def define(self, condition: Grid, x: Grid, y: Grid) -> Grid:
        to = self.infer().dtype
        return elementwise(lambda c, a, b: select(c, a.cast(to), b.cast(to)), condition, x, y)

    def reference(self, condition: Any, x: Any, y: Any) -> Any:
        return np.where(condition, x, y)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(boolean[7, 33], f32[7, 33], f32[7, 33])
        yield cls(boolean[5, 1], f16[3, 1, 4], f16[()])
        yield cls(boolean[4], i32[4], f32[4])
        yield cls(boolean[0, 3], f32[3], f32[()])


@operator("clamp")
class Clamp(Op):
    """x but at least `low`, and then at most `high`; NaN stays NaN."""

    x: TensorType
    low: Number | None
    high: Number | None

    def infer(self) -> TensorType:
        return self.x

    def define(self, x: Grid) -> Grid:
        def element(v: Expr) -> Expr:
            if self.low is not None:
                v = maximum(v, constant(self.low, x.dtype))
            return v if self.high is None else minimum(v, constant(self.high, x.dtype))

        return elementwise(element, x)

    def reference(self, x: Any) -> Any:
        return np.clip(x, self.low, self.high)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 33], -0.5, 0.75)
        yield cls(f16[5, 6], 0.25, None)
        yield cls(bf16[5], None, 0.5)
        yield cls(i32[9, 4], -3, 4)
        yield cls(i64[()], 0, None)
        yield cls(i8[6], 5, -5)


@operator("triangle")
class Triangle(Op):
    """The elements on one side of a diagonal of the last two axes, zero elsewhere."""

    x: TensorType
    diagonal: int
    upper: bool

    def infer(self) -> TensorType:
        if self.x.ndim < 2:
            raise ShapeMismatch(f"a triangle needs 2 dimensions, x has {self.x.ndim}")
        return self.x

    def define(self, x: Grid) -> Grid:
        def element(*index: Expr) -> Expr:
            i, j = index[-2:]
            edge = i + self.diagonal
            kept = j >= edge if self.upper else j <= edge
            return select(kept, x[index], constant(0, x.dtype))

        return grid(x.shape, element)

    def reference(self, x: Any) -> Any:
        return (np.triu if self.upper else np.tril)(x, self.diagonal)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 9], 0, False)
        yield cls(f16[2, 5, 4], 1, True)
        yield cls(boolean[6, 6], -2, False)
        yield cls(i64[3, 0], 0, True)
