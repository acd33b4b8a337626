"""Reductions over axes: sums, products, extremes and where they are, variance, norms, running sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import (
    Grid,
    Scan,
    accumulator,
    arg_reduce,
    arithmetic,
    elementwise,
    grid,
    maximum,
    scan,
)
from hidet.compute import functions as f
from hidet.compute.reduction import How, truth
from hidet.compute.sizes import product, same
from hidet.errors import BadArgument, DtypeMismatch
from hidet.graph import Op, Tensor, apply, family, operator
from hidet.graph.dims import axes_of, axis_of
from hidet.ir.expr import wrap
from hidet.ops.shape import reshape
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


def argmax(x: Tensor, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Where the largest element is along `axis` (None: in the flattened tensor); the first one."""
    return _arg(ArgMax, x, axis, keepdims)


def argmin(x: Tensor, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Where the smallest element is along `axis` (None: in the flattened tensor); the first one."""
    return _arg(ArgMin, x, axis, keepdims)


def _arg(kind: type[Op], x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    if x.ndim == 0 or axis is None:
        found = apply(kind, reshape(x, (-1,)), axis=0, keepdims=False)
        return reshape(found, (1,) * x.ndim) if keepdims else found
    return apply(kind, x, axis=axis_of(axis, x.ndim), keepdims=keepdims)


def var(x: Tensor, axes: Axes = None, *, correction: float = 1, keepdims: bool = False) -> Tensor:
    """The variance over `axes`: squared distances from the mean over n - `correction`."""
    chosen = axes_of(axes, x.ndim)
    return apply(Var, x, axes=chosen, correction=correction, keepdims=keepdims, root=False)


def std(x: Tensor, axes: Axes = None, *, correction: float = 1, keepdims: bool = False) -> Tensor:
    """The square root of the variance."""
    chosen = axes_of(axes, x.ndim)
    return apply(Var, x, axes=chosen, correction=correction, keepdims=keepdims, root=True)


def logsumexp(x: Tensor, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials, without overflow."""
    return apply(LogSumExp, x, axes=axes_of(axes, x.ndim), keepdims=keepdims)


def norm(x: Tensor, p: float = 2, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The p-norm over `axes`: (sum |x|**p) ** (1/p); 0 counts, inf and -inf take extremes."""
    return apply(Norm, x, axes=axes_of(axes, x.ndim), p=float(p), keepdims=keepdims)


def cumsum(x: Tensor, axis: int, *, dtype: DType | None = None) -> Tensor:
    """Running sums along `axis`; of integers and bools in int64."""
    return apply(CumSum, x, axis=axis_of(axis, x.ndim), dtype=dtype)


def cumprod(x: Tensor, axis: int, *, dtype: DType | None = None) -> Tensor:
    """Running products along `axis`; of integers and bools in int64."""
    return apply(CumProd, x, axis=axis_of(axis, x.ndim), dtype=dtype)


# ---- operators -----------------------------------------------------------------------------------


def remaining(shape: Sequence[Size], axes: Sequence[int], keepdims: bool) -> tuple[Size, ...]:
    """The shape after a reduction."""
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


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
        of = self.x.dtype
        return self.dtype or (of if of.is_float else accumulator(of))

    def define(self, x: Grid) -> Grid:
        result = self.result_dtype()
        return x.cast(accumulator(result)).reduce(self.axes, self.how, self.keepdims).cast(result)

    def reference(self, x: Any) -> Any:
        wide = np.float64 if self.result_dtype().is_float else self.result_dtype().numpy
        return type(self).numpy(x.astype(wide), axis=self.axes, keepdims=self.keepdims)


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


@family
class FloatReduction(Op):
    """A reduction of floating-point elements in several steps."""

    x: TensorType
    axes: tuple[int, ...]
    keepdims: bool

    factor: ClassVar[float] = 32

    def infer(self) -> TensorType:
        if not self.x.dtype.is_float:
            raise DtypeMismatch(f"{self.name} does not take {self.x.dtype.name}")
        return self.x.dtype[remaining(self.x.shape, self.axes, self.keepdims)]


@operator("var")
class Var(FloatReduction):
    """Squared distances from the mean over n - `correction`; with `root` the square root of it."""

    correction: float
    root: bool

    def define(self, x: Grid) -> Grid:
        wide = x.cast(arithmetic(x.dtype))
        centred = wide - wide.mean(self.axes)
        squares = (centred * centred).sum(self.axes, self.keepdims)
        count = product(x.shape[axis] for axis in self.axes)
        left = wrap(count).cast(squares.dtype) - self.correction
        value = squares / maximum(left, 0.0)
        return (f.sqrt(value) if self.root else value).cast(x.dtype)

    def reference(self, x: Any) -> Any:
        function = np.std if self.root else np.var
        return function(x, axis=self.axes, ddof=self.correction, keepdims=self.keepdims)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 129], (1,), False, 1, False)
        yield cls(f16[3, 5, 17], (0, 2), True, 0, False)
        yield cls(f64[11], (0,), False, 1, True)


@operator("logsumexp")
class LogSumExp(FloatReduction):
    """The logarithm of the sum of exponentials."""

    within: ClassVar[tuple[float, float]] = (-90, 90)

    def define(self, x: Grid) -> Grid:
        wide = x.cast(arithmetic(x.dtype))
        top = wide.max(self.axes)
        # An infinite maximum must not be subtracted from itself.
        shift = elementwise(lambda m: f.select(f.isinf(m), 0, m), top)
        total = f.exp(wide - shift).sum(self.axes)
        value = f.log(total) + shift
        # Over axes of size 1 the sum only drops them.
        return (value if self.keepdims else value.sum(self.axes, False)).cast(x.dtype)

    def reference(self, x: Any) -> Any:
        return np.log(np.exp(x).sum(self.axes, keepdims=self.keepdims))

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 65], (1,), False)
        yield cls(f16[3, 5, 9], (0, 2), True)


@operator("norm")
class Norm(FloatReduction):
    """The p-norm over `axes`."""

    p: float

    def define(self, x: Grid) -> Grid:
        size = f.absolute(x.cast(arithmetic(x.dtype)))
        if self.p == float("inf"):
            return size.max(self.axes, self.keepdims).cast(x.dtype)
        if self.p == float("-inf"):
            return size.min(self.axes, self.keepdims).cast(x.dtype)
        if self.p == 0:
            return size.ne(0).cast(size.dtype).sum(self.axes, self.keepdims).cast(x.dtype)
        if self.p == 1:
            return size.sum(self.axes, self.keepdims).cast(x.dtype)
        if self.p == 2:
            return f.sqrt((size * size).sum(self.axes, self.keepdims)).cast(x.dtype)  # type: ignore[no-any-return]
        total = f.power(size, self.p).sum(self.axes, self.keepdims)
        return f.power(total, 1 / self.p).cast(x.dtype)  # type: ignore[no-any-return]

    def reference(self, x: Any) -> Any:
        size = np.moveaxis(np.abs(x), self.axes, range(len(self.axes)))
        flat = size.reshape((-1, *size.shape[len(self.axes) :]))
        found = np.linalg.norm(flat, ord=self.p, axis=0)
        return np.expand_dims(found, self.axes) if self.keepdims else found

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 33], (1,), False, 2.0)
        yield cls(f16[3, 5, 9], (0, 2), True, 1.0)
        yield cls(f32[4, 9], (1,), False, 3.0)
        yield cls(f32[4, 9], (0,), True, float("inf"))
        yield cls(f32[4, 9], (0,), False, 0.0)
        yield cls(f32[4, 9], (0,), False, float("-inf"))


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
