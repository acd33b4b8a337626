"""Running sums and products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import (
    Grid,
    Scan,
    accumulator,
    scan,
)
from hidet.graph import Op, Tensor, apply, family, operator
from hidet.graph.dims import axis_of
from hidet.types import DType, TensorType, boolean, f16, f32, i32


def cumsum(x: Tensor, axis: int, *, dtype: DType | None = None) -> Tensor:
    """Running sums along `axis`; of integers and bools in int64."""
    return apply(CumSum, x, axis=axis_of(axis, x.ndim), dtype=dtype)


def cumprod(x: Tensor, axis: int, *, dtype: DType | None = None) -> Tensor:
    """Running products along `axis`; of integers and bools in int64."""
    return apply(CumProd, x, axis=axis_of(axis, x.ndim), dtype=dtype)


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
        of = self.x.dtype
        return (self.dtype or (of if of.is_float else accumulator(of)))[self.x.shape]

    def define(self, x: Grid) -> Grid:
        result = self.infer().dtype
        if not x.ndim:
            return x.cast(result)
        source: Scan = scan(x.cast(accumulator(result)), self.axis, self.how)
        return source.cast(result)

    def reference(self, x: Any) -> Any:
        of = self.infer().dtype
        wide = x.astype(np.float64 if of.is_float else of.numpy)
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


@operator("cumprod")
class CumProd(Cumulative):
    """Running products along `axis`."""

    how: ClassVar[Any] = "prod"
    numpy: ClassVar[Any] = staticmethod(np.cumprod)
    within: ClassVar[tuple[float, float]] = (0.8, 1.2)
