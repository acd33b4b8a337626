"""Cumulative sums, products and extremes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import (
    Grid,
    Scan,
    scan,
    sum_accumulator,
)
from hidet.graph import Op, Tensor, apply, family, operator
from hidet.graph.dims import axis_of
from hidet.ops.elementwise.binary import logical_or
from hidet.ops.elementwise.compare import equal
from hidet.ops.elementwise.select import where as select
from hidet.ops.elementwise.unary import isnan
from hidet.ops.reductions.reduce import sum_dtype, widened
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import full, full_like, iota
from hidet.ops.tensors.pad import pad
from hidet.ops.tensors.shape import reshape
from hidet.ops.tensors.slicing import flip
from hidet.types import DType, TensorType, boolean, f16, f32, i32, i64


def cumsum(
    x: Tensor, axis: int, *, dtype: DType | None = None, exclusive: bool = False,
    reverse: bool = False,
) -> Tensor:  # fmt: skip
    """The cumulative sum along `axis`; of integers and bools in int64.

    `exclusive` leaves out the element itself, `reverse` runs from the end.
    """
    return running(CumSum, x, axis, dtype, exclusive, reverse)


def cumprod(
    x: Tensor, axis: int, *, dtype: DType | None = None, exclusive: bool = False,
    reverse: bool = False,
) -> Tensor:  # fmt: skip
    """The cumulative product along `axis`; of integers and bools in int64.

    `exclusive` leaves out the element itself, `reverse` runs from the end.
    """
    return running(CumProd, x, axis, dtype, exclusive, reverse)


def running(
    kind: type[Op], x: Tensor, axis: int, dtype: DType | None, exclusive: bool, reverse: bool
) -> Tensor:
    """Running combinations: of those before an element, with what changes nothing in front."""
    where = axis_of(axis, x.ndim)
    x = flip(x, where) if reverse and x.ndim else x
    if exclusive:
        first = 0 if kind is CumSum else 1
        widths = [(int(each == where), -int(each == where)) for each in range(x.ndim)]
        x = pad(x, widths, value=first) if x.ndim else full_like(x, first)
    found = apply(kind, x, axis=where, dtype=dtype)
    return flip(found, where) if reverse and x.ndim else found


def cummax(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """The cumulative maximum along `axis`, and its last position (i64); NaN is greatest."""
    return with_places(x, apply(CumMax, x, axis=axis_of(axis, x.ndim)), axis)


def cummin(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """The cumulative minimum along `axis`, and its last position (i64); NaN is least."""
    return with_places(x, apply(CumMin, x, axis=axis_of(axis, x.ndim)), axis)


def with_places(x: Tensor, extreme: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Running extremes, and the place where each was met last."""
    if not x.ndim:
        return extreme, cast(x * 0, i64)
    where = axis_of(axis, x.ndim)
    shape = tuple(size if a == where else 1 for a, size in enumerate(x.shape))
    place = reshape(iota(x.shape[where], device=x.device), shape)
    met = equal(x, extreme)
    if x.dtype.is_float:
        met = logical_or(met, isnan(x))
    none = full((), 0, i64, device=x.device)
    return extreme, apply(CumMax, select(met, place, none), axis=where)


@family
class Cumulative(Op):
    """Running combinations along `axis`."""

    x: TensorType
    axis: int
    dtype: DType | None = None

    how: ClassVar[Any]
    numpy: ClassVar[Any]
    factor: ClassVar[float] = 64

    def infer(self) -> TensorType:
        return sum_dtype(self.x.dtype, self.dtype)[self.x.shape]

    def define(self, x: Grid) -> Grid:
        result = self.infer().dtype
        if not x.ndim:
            return x.cast(result)
        source: Scan = scan(x.cast(sum_accumulator(result)), self.axis, self.how)
        return source.cast(result)

    def reference(self, x: Any) -> Any:
        wide = widened(x, self.infer().dtype)
        return type(self).numpy(wide, axis=self.axis) if x.ndim else wide

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 33], 1)
        yield cls(f16[3, 9, 4], 1)
        yield cls(i32[19], 0)
        yield cls(boolean[4, 5], 0)
        yield cls(f32[()], 0)
        yield cls(f32[0, 3], 0)


@operator("cumsum")
class CumSum(Cumulative):
    """Running sums along `axis`."""

    how: ClassVar[Any] = "sum"
    numpy: ClassVar[Any] = staticmethod(np.cumsum)


@family
class Extreme(Cumulative):
    """Running extremes, in the type of the elements."""

    factor: ClassVar[float] = 0

    def infer(self) -> TensorType:
        return self.x

    def define(self, x: Grid) -> Grid:
        return scan(x, self.axis, self.how) if x.ndim else x


@operator("cummax")
class CumMax(Extreme):
    """The greatest elements so far along `axis`; NaN from the first one on."""

    how: ClassVar[Any] = "max"
    numpy: ClassVar[Any] = staticmethod(np.maximum.accumulate)


@operator("cummin")
class CumMin(Extreme):
    """The least elements so far along `axis`; NaN from the first one on."""

    how: ClassVar[Any] = "min"
    numpy: ClassVar[Any] = staticmethod(np.minimum.accumulate)


@operator("cumprod")
class CumProd(Cumulative):
    """Running products along `axis`."""

    how: ClassVar[Any] = "prod"
    numpy: ClassVar[Any] = staticmethod(np.cumprod)
    within: ClassVar[tuple[float, float]] = (0.8, 1.2)
