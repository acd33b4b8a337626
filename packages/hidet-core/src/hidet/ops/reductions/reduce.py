"""Reductions over axes: sums, products, extremes and their positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import (
    Grid,
    accumulator,
    arg_reduce,
    elementwise,
    grid,
    sum_accumulator,
)
from hidet.compute.reduction import How, truth
from hidet.compute.sizes import product, same, tidy
from hidet.errors import BadArgument, DtypeMismatch
from hidet.graph import Op, Tensor, apply, family, operator
from hidet.graph.dims import axes_of, axis_of
from hidet.ops.tensors.shape import reshape
from hidet.ops.tensors.slicing import flip
from hidet.types import DType, Size, TensorType, boolean, f16, f32, f64, i8, i32, i64

Axes = int | Sequence[int] | None


def sum(
    x: Tensor, axes: Axes = None, *, keepdims: bool = False, dtype: DType | None = None
) -> Tensor:
    """The sum over `axes` (None: all); of integers and bools in int64."""
    return apply(Sum, x, axes=axes_of(axes, x.ndim), keepdims=keepdims, dtype=dtype)


def prod(
    x: Tensor, axes: Axes = None, *, keepdims: bool = False, dtype: DType | None = None
) -> Tensor:
    """The product over `axes` (None: all); of integers and bools in int64."""
    return apply(Prod, x, axes=axes_of(axes, x.ndim), keepdims=keepdims, dtype=dtype)


def mean(
    x: Tensor, axes: Axes = None, *, keepdims: bool = False, dtype: DType | None = None
) -> Tensor:
    """The mean over `axes` (None: all); `x` is of a floating-point type, or `dtype` is."""
    return apply(Mean, x, axes=axes_of(axes, x.ndim), keepdims=keepdims, dtype=dtype)


def max(x: Tensor, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The largest element over `axes` (None: all); NaN if there is one."""
    return apply(Max, x, axes=axes_of(axes, x.ndim), keepdims=keepdims)


def min(x: Tensor, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The smallest element over `axes` (None: all); NaN if there is one."""
    return apply(Min, x, axes=axes_of(axes, x.ndim), keepdims=keepdims)


def any(x: Tensor, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Whether an element over `axes` (None: all) is not zero."""
    return apply(Any_, x, axes=axes_of(axes, x.ndim), keepdims=keepdims)


def all(x: Tensor, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Whether no element over `axes` (None: all) is zero."""
    return apply(All, x, axes=axes_of(axes, x.ndim), keepdims=keepdims)


def argmax(
    x: Tensor, axis: int | None = None, *, keepdims: bool = False, last: bool = False
) -> Tensor:
    """The index (i64) of the largest element along `axis` (None: of the flattened tensor).

    Of equal elements the first one counts, or the `last` one.
    """
    return _arg(ArgMax, x, axis, keepdims, last)


def argmin(
    x: Tensor, axis: int | None = None, *, keepdims: bool = False, last: bool = False
) -> Tensor:
    """The index (i64) of the smallest element along `axis` (None: of the flattened tensor).

    Of equal elements the first one counts, or the `last` one.
    """
    return _arg(ArgMin, x, axis, keepdims, last)


def _arg(kind: type[Op], x: Tensor, axis: int | None, keepdims: bool, last: bool) -> Tensor:
    if last:
        turned = flip(x, axis_of(axis, x.ndim)) if axis is not None else flip(x, range(x.ndim))
        size = product(x.shape) if axis is None or not x.ndim else x.shape[axis]
        found: Tensor = tidy(size - 1) - _arg(kind, turned, axis, keepdims, False)
        return found
    if x.ndim == 0 or axis is None:
        found = apply(kind, reshape(x, (-1,)), axis=0, keepdims=False)
        return reshape(found, (1,) * x.ndim) if keepdims else found
    return apply(kind, x, axis=axis_of(axis, x.ndim), keepdims=keepdims)


# ---- operators -----------------------------------------------------------------------------------


def remaining(shape: Sequence[Size], axes: Sequence[int], keepdims: bool) -> tuple[Size, ...]:
    """The shape after a reduction."""
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def sum_dtype(of: DType, asked: DType | None) -> DType:
    """The type of sums and products of elements of type `of`: what was asked for; else floats keep
    theirs, and integers and bools take that of their sums."""
    return asked or (of if of.is_float else accumulator(of))


def widened(x: Any, result: DType) -> Any:
    """Numbers for a reference to add or multiply: float64 where the result is of floats."""
    return x.astype(np.float64 if result.is_float else result.numpy)


@family
class Reduction(Op):
    """Elements over `axes` combined."""

    x: TensorType
    axes: tuple[int, ...]
    keepdims: bool

    how: ClassVar[How]
    numpy: ClassVar[Any]

    def infer(self) -> TensorType:
        return self.result_dtype()[remaining(self.x.shape, self.axes, self.keepdims)]

    def result_dtype(self) -> DType:
        """The type of the result."""
        return self.x.dtype

    def define(self, x: Grid) -> Grid:
        return x.reduce(self.axes, self.how, self.keepdims)

    def reference(self, x: Any) -> Any:
        return type(self).numpy(x, axis=self.axes, keepdims=self.keepdims)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        for of, shape, axes, keepdims in (
            (f32, (7, 129), (1,), False),
            (f16, (3, 5, 33), (0, 2), True),
            (i32, (4, 9), (0,), False),
            (boolean, (3, 6), (0, 1), False),
            (f64, (5,), (0,), True),
            (f32, (), (), False),
            (i8, (0, 3), (1,), False),
        ):
            yield cls(of[shape], axes, keepdims)


@family
class Summed(Reduction):
    """A reduction that adds or multiplies, in a wider type."""

    dtype: DType | None = None

    def result_dtype(self) -> DType:
        return sum_dtype(self.x.dtype, self.dtype)

    def define(self, x: Grid) -> Grid:
        result = self.result_dtype()
        wide = x.cast(sum_accumulator(result))
        return wide.reduce(self.axes, self.how, self.keepdims).cast(result)

    def reference(self, x: Any) -> Any:
        wide = widened(x, self.result_dtype())
        return type(self).numpy(wide, axis=self.axes, keepdims=self.keepdims)


@operator("sum")
class Sum(Summed):
    """The sum over `axes`."""

    how: ClassVar[How] = "sum"
    numpy: ClassVar[Any] = staticmethod(np.sum)
    factor: ClassVar[float] = 32


@operator("prod")
class Prod(Summed):
    """The product over `axes`."""

    how: ClassVar[How] = "prod"
    numpy: ClassVar[Any] = staticmethod(np.prod)
    factor: ClassVar[float] = 64
    within: ClassVar[tuple[float, float]] = (0.7, 1.4)


@operator("mean")
class Mean(Summed):
    """The mean over `axes`."""

    how: ClassVar[How] = "sum"
    numpy: ClassVar[Any] = staticmethod(np.mean)
    factor: ClassVar[float] = 32

    def result_dtype(self) -> DType:
        found = self.dtype or self.x.dtype
        if not found.is_float:
            raise DtypeMismatch(f"mean does not take {found.name}", help="give a float dtype")
        return found

    def define(self, x: Grid) -> Grid:
        result = self.result_dtype()
        return x.cast(accumulator(result)).mean(self.axes, self.keepdims).cast(result)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 129], (1,), False)
        yield cls(f16[2, 3, 5, 4], (2, 3), True)
        yield cls(i32[4, 9], (0,), False, f32)
        yield cls(f64[()], (), False)


@family
class Extreme(Reduction):
    """A reduction that selects; it has no result of no elements."""

    def infer(self) -> TensorType:
        count = product(self.x.shape[axis] for axis in self.axes)
        result = super().infer()
        if same(count, 0) and not same(product(result.shape), 0):
            raise BadArgument(f"{self.name} of no elements, over axes {self.axes}")
        return result


@operator("max")
class Max(Extreme):
    """The largest element over `axes`."""

    how: ClassVar[How] = "max"
    numpy: ClassVar[Any] = staticmethod(np.max)


@operator("min")
class Min(Extreme):
    """The smallest element over `axes`."""

    how: ClassVar[How] = "min"
    numpy: ClassVar[Any] = staticmethod(np.min)


@family
class Logical(Reduction):
    """A reduction of truth values."""

    def result_dtype(self) -> DType:
        return boolean

    def define(self, x: Grid) -> Grid:
        return elementwise(truth, x).reduce(self.axes, self.how, self.keepdims)


@operator("any")
class Any_(Logical):
    """Whether an element over `axes` is not zero."""

    how: ClassVar[How] = "any"
    numpy: ClassVar[Any] = staticmethod(np.any)


@operator("all")
class All(Logical):
    """Whether no element over `axes` is zero."""

    how: ClassVar[How] = "all"
    numpy: ClassVar[Any] = staticmethod(np.all)


@family
class ArgExtreme(Op):
    """Where the extreme along `axis` is: the first one; a NaN counts as extreme."""

    x: TensorType
    axis: int
    keepdims: bool

    how: ClassVar[Any]
    numpy: ClassVar[Any]

    def infer(self) -> TensorType:
        shape = remaining(self.x.shape, (self.axis,), self.keepdims)
        if same(self.x.shape[self.axis], 0) and not same(product(shape), 0):
            raise BadArgument(f"{self.name} of no elements, along axis {self.axis}")
        return i64[shape]

    def define(self, x: Grid) -> Grid:
        def element(*index: Any) -> Any:
            rest = index[self.axis + self.keepdims :]
            return arg_reduce(
                x.shape[self.axis], lambda r: x[(*index[: self.axis], r, *rest)], self.how
            )

        return grid(self.infer().shape, element)

    def reference(self, x: Any) -> Any:
        return type(self).numpy(x, axis=self.axis, keepdims=self.keepdims)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 33], 1, False)
        yield cls(f16[3, 9, 4], 1, True)
        yield cls(i32[40], 0, False)
        yield cls(f32[0, 3], 1, False)


@operator("argmax")
class ArgMax(ArgExtreme):
    """Where the largest element along `axis` is."""

    how: ClassVar[Any] = "max"
    numpy: ClassVar[Any] = staticmethod(np.argmax)


@operator("argmin")
class ArgMin(ArgExtreme):
    """Where the smallest element along `axis` is."""

    how: ClassVar[Any] = "min"
    numpy: ClassVar[Any] = staticmethod(np.argmin)
