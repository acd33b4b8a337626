"""Axes enlarged by whole factors: no index or weight is looked up or computed for each element."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, accumulator, grid, maximum, minimum
from hidet.compute.sizes import tidy
from hidet.graph import Op, operator
from hidet.ir.expr import Const, Expr, Select, constant, wrap
from hidet.ops.resampling.interpolation import added, held
from hidet.ops.resampling.whole_factors import Starts, Weights, phases
from hidet.types import DType, TensorType, f16, f32, i32, u8


@operator("enlarge")
class Enlarge(Op):
    """Each of `axes` as many times as long as its factor, which is how many `starts` it has.

    Element f * c + k of an axis adds up the elements c + starts[k], c + starts[k] + 1, ... of it,
    those at its ends continued, each times its number in `weights[k]`; a single one is copied.
    Integer results are rounded, halves to even, and held in the type's range.
    """

    x: TensorType
    axes: tuple[int, ...]
    starts: tuple[Starts, ...]
    weights: tuple[Weights, ...]
    dtype: DType

    def infer(self) -> TensorType:
        shape = list(self.x.shape)
        for axis, starts in zip(self.axes, self.starts, strict=True):
            shape[axis] = tidy(shape[axis] * len(starts))
        return self.dtype[tuple(shape)]

    @property
    def taps(self) -> tuple[int, ...]:
        """How many elements of each axis a new one reads."""
        return tuple(len(each[0]) for each in self.weights)

    def define(self, x: Grid) -> Grid:
        wide = accumulator(self.dtype) if self.dtype.is_float else f32

        def element(*where: Expr) -> Expr:
            if math.prod(self.taps) == 1:
                return self.read(x, where, [wrap(0)] * len(self.axes)).cast(self.dtype)

            def term(*taps: Expr) -> Expr:
                return self.weight(where, taps, wide) * self.read(x, where, taps).cast(wide)

            return held(added(self.taps, term).cast(wide), self.dtype)

        return grid(self.infer().shape, element)

    def read(self, x: Grid, where: Sequence[Expr], taps: Sequence[Expr]) -> Expr:
        """An element that a new one adds up.

        Along the last axis it is chosen whether that is an end, so that the inside is a loop of its
        own; along others the index is held.
        """
        place, end = list(where), len(where) - 1
        for axis, starts, tap in zip(self.axes, self.starts, taps, strict=True):
            start = chosen(where[axis] % len(starts), [constant(each, i32) for each in starts])
            place[axis] = where[axis] // len(starts) + (tap + start)
            if axis != end:
                place[axis] = minimum(maximum(place[axis], 0), wrap(self.x.shape[axis]) - 1)
        if end not in self.axes:
            return x[tuple(place)]
        *outer, last = place
        size = wrap(self.x.shape[end])
        within = Select(last < size, x[tuple(place)], x[(*outer, size - 1)])
        return Select(last < 0, x[(*outer, wrap(0))], within)

    def weight(self, where: Sequence[Expr], taps: Sequence[Expr], dtype: DType) -> Expr:
        """What an element counts."""
        product: Expr = constant(1, dtype)
        for axis, weights, tap in zip(self.axes, self.weights, taps, strict=True):
            phase = where[axis] % len(weights)
            of_taps = zip(*weights, strict=True)
            each = [chosen(phase, [constant(count, dtype) for count in of]) for of in of_taps]
            product = product * chosen(tap, each)
        return product

    def reference(self, x: Any) -> Any:
        y = x
        for axis, starts, weights in zip(self.axes, self.starts, self.weights, strict=True):
            index, phase = np.divmod(np.arange(y.shape[axis] * len(starts)), len(starts))
            shape = (-1, *(1,) * (y.ndim - axis - 1))
            total: Any = 0
            for tap in range(len(weights[0])):
                place = np.clip(index + np.array(starts)[phase] + tap, 0, y.shape[axis] - 1)
                count = np.array(weights)[phase, tap].reshape(shape)
                total = total + np.take(y, place, axis) * count
            y = total
        return y if self.dtype.is_float else np.clip(np.rint(y), *self.dtype.limits)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        def made(x: TensorType, of: DType, how: tuple[Any, ...], **factors: int) -> Any:
            tables = [phases(factor, *how) for factor in factors.values()]
            axes = tuple(int(name[1:]) for name in factors)
            starts, weights = zip(*tables, strict=True)
            return cls(x, axes, starts, weights, of)

        yield made(f32[2, 3, 7, 5], f32, ("nearest", "asymmetric", "floor", -0.75), _2=2, _3=3)
        yield made(f32[1, 7, 37], f32, ("linear", "half_pixel", "floor", -0.75), _1=2, _2=2)
        yield made(f16[7, 5, 3], f16, ("linear", "asymmetric", "floor", -0.75), _0=3, _1=2)
        yield made(u8[7, 1], u8, ("cubic", "half_pixel", "floor", -0.75), _0=4)
        yield made(u8[3, 5], u8, ("nearest", "half_pixel", "ceil", -0.75), _0=2, _1=2)


def chosen(number: Expr, values: Sequence[Expr]) -> Expr:
    """The value with that number."""
    if isinstance(number, Const):
        return values[int(number.value)]
    *others, found = values
    for place, value in reversed(list(enumerate(others))):
        if value is not found:
            found = Select(number.eq(place), value, found)
    return found
