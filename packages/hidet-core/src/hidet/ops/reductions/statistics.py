"""Reductions in several steps: variance, norms, log-sum-exp."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import (
    Grid,
    arithmetic,
    maximum,
)
from hidet.compute import functions as f
from hidet.compute.sizes import product
from hidet.errors import DtypeMismatch
from hidet.graph import Op, Tensor, apply, family, operator
from hidet.graph.dims import axes_of
from hidet.ir.expr import wrap
from hidet.ops.reductions.reduce import (
    Axes,
    remaining,
)
from hidet.types import TensorType, f16, f32, f64


def var(x: Tensor, axes: Axes = None, *, correction: float = 1, keepdims: bool = False) -> Tensor:
    """The variance over `axes`: the sum of squared deviations divided by n - `correction`."""
    chosen = axes_of(axes, x.ndim)
    return apply(Var, x, axes=chosen, correction=correction, keepdims=keepdims, root=False)


def std(x: Tensor, axes: Axes = None, *, correction: float = 1, keepdims: bool = False) -> Tensor:
    """The standard deviation: the square root of `var`."""
    chosen = axes_of(axes, x.ndim)
    return apply(Var, x, axes=chosen, correction=correction, keepdims=keepdims, root=True)


def logsumexp(x: Tensor, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) over `axes` (None: all), without overflow."""
    return apply(LogSumExp, x, axes=axes_of(axes, x.ndim), keepdims=keepdims)


def norm(x: Tensor, p: float = 2, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The p-norm over `axes`: (sum |x|**p) ** (1/p). p = 0 counts the elements that are not zero,
    p = inf and -inf are the largest and the smallest |x|."""
    return apply(Norm, x, axes=axes_of(axes, x.ndim), p=float(p), keepdims=keepdims)


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

    continuous: ClassVar[bool] = True
    within: ClassVar[tuple[float, float]] = (-90, 90)

    def define(self, x: Grid) -> Grid:
        wide = x.cast(arithmetic(x.dtype))
        top = wide.max(self.axes)
        # An infinite maximum must not be subtracted from itself.
        shift = f.select(f.isinf(top), 0, top)
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
            return f.sqrt((size * size).sum(self.axes, self.keepdims)).cast(x.dtype)
        total = f.power(size, self.p).sum(self.axes, self.keepdims)
        return f.power(total, 1 / self.p).cast(x.dtype)

    def reference(self, x: Any) -> Any:
        size = np.moveaxis(np.abs(x), self.axes, range(len(self.axes)))
        flat = size.reshape(
            (math.prod(size.shape[: len(self.axes)]), *size.shape[len(self.axes) :])
        )
        found = np.linalg.norm(flat, ord=self.p, axis=0)
        return np.expand_dims(found, self.axes) if self.keepdims else found

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 33], (1,), False, 2.0)
        yield cls(f16[3, 5, 9], (0, 2), True, 1.0)
        yield cls(f32[4, 9], (1,), False, 3.0)
        yield cls(f32[0, 9], (1,), False, 2.0)
        yield cls(f32[4, 9], (0,), True, float("inf"))
        yield cls(f32[4, 9], (0,), False, 0.0)
        yield cls(f32[4, 9], (0,), False, float("-inf"))
