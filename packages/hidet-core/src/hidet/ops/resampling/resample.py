"""Axes whose elements are weighted sums of a few others, as tables say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, accumulator, grid, maximum, select
from hidet.compute.functions import both
from hidet.compute.sizes import numbers
from hidet.errors import ShapeMismatch
from hidet.graph import Op, operator
from hidet.ir.expr import Const, Expr, constant
from hidet.ops.indexing.index import positions, require_integers
from hidet.ops.resampling.interpolation import added, held
from hidet.types import DType, TensorType, f16, f32, i32, u8


@operator("resample")
class Resample(Op):
    """Each of `axes` read at [count, taps] indices, and added up with weights where there are some.

    Where an index of an element is -1, the element is `fill`, unless that is None: then none is.
    Integer results are rounded, halves to even, and held in the type's range.
    """

    x: TensorType
    indices: tuple[TensorType, ...]
    weights: tuple[TensorType, ...]
    axes: tuple[int, ...]
    fill: float | None
    dtype: DType

    def infer(self) -> TensorType:
        if self.weights and [w.shape for w in self.weights] != [i.shape for i in self.indices]:
            raise ShapeMismatch("resample takes a weight for each index")
        if len(self.axes) != len(self.indices) or any(each.ndim != 2 for each in self.indices):
            raise ShapeMismatch("resample takes indices [count, taps] for each axis")
        for each in self.indices:
            require_integers(self.name, each)
        shape = list(self.x.shape)
        for axis, each in zip(self.axes, self.indices, strict=True):
            shape[axis] = each.shape[0]
        return self.dtype[tuple(shape)]

    @property
    def taps(self) -> tuple[int, ...]:
        """How many elements of each axis a new one reads."""
        return numbers([each.shape[1] for each in self.indices])

    def define(self, x: Grid, indices: tuple[Grid, ...], weights: tuple[Grid, ...]) -> Grid:
        wide = accumulator(self.dtype) if self.dtype.is_float else f32

        def element(*where: Expr) -> Expr:
            def read(*taps: Expr) -> Expr:
                place = list(where)
                for axis, index, tap in zip(self.axes, indices, taps, strict=True):
                    found = index[where[axis], tap].cast(i32)
                    place[axis] = found if self.fill is None else maximum(found, 0)
                return x[tuple(place)]

            def term(*taps: Expr) -> Expr:
                value = read(*taps).cast(wide)
                for axis, weight, tap in zip(self.axes, weights, taps, strict=True):
                    value = value * weight[where[axis], tap].cast(wide)
                return value

            if not weights:
                value = read(*[Const(0, i32)] * len(indices))
            else:
                value = added(self.taps, term).cast(wide)
            return self.inside(held(value, self.dtype), indices, where)

        return grid(self.infer().shape, element)

    def inside(self, value: Expr, indices: Sequence[Grid], where: Sequence[Expr]) -> Expr:
        """The value, or what stands for places outside."""
        if self.fill is None or not indices:
            return value
        tests = [index[where[axis], 0] >= 0 for axis, index in zip(self.axes, indices, strict=True)]
        return select(both(*tests), value, constant(self.fill, self.dtype))

    def reference(self, x: Any, indices: Any, weights: Any) -> Any:
        y, outside = x, np.zeros((1,) * x.ndim, bool)
        for number, (axis, index) in enumerate(zip(self.axes, indices, strict=True)):
            taken = np.take(y, np.maximum(index, 0), axis)
            shape = (*index.shape, *(1,) * (x.ndim - axis - 1))
            weight = weights[number] if weights else np.ones(index.shape, np.int64)
            y = (taken * weight.reshape(shape)).sum(axis + 1)
            outside = outside | (index[:, 0] < 0).reshape((-1, *(1,) * (x.ndim - axis - 1)))
        if not self.dtype.is_float:
            y = np.clip(np.rint(y), *self.dtype.limits)
        return y if self.fill is None else np.where(outside, self.fill, y)

    def examples(self, seed: int) -> list[Any]:
        x, *_ = super().examples(seed)
        random, low = np.random.default_rng(seed), int(self.fill is not None)
        found = [
            positions(each.shape, numbers(self.x.shape)[axis] + low, each, seed + axis) - low
            for axis, each in zip(self.axes, self.indices, strict=True)
        ]
        # An element is outside as a whole, or inside as a whole.
        index = [
            np.where(each[:, :1] < 0, -1, np.maximum(each, 0)).astype(i32.numpy) for each in found
        ]
        weights = [
            random.uniform(0, 1, numbers(w.shape)).astype(w.dtype.numpy) for w in self.weights
        ]
        return [x, *index, *weights]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        two, one = (i32[5, 2], i32[9, 2]), (i32[5, 1], i32[9, 1])
        yield cls(f32[2, 3, 7, 6], two, (f32[5, 2], f32[9, 2]), (2, 3), None, f32)
        yield cls(f16[2, 7, 6], two, (f32[5, 2], f32[9, 2]), (1, 2), 1.5, f16)
        yield cls(u8[7, 6], one, (), (0, 1), None, u8)
        yield cls(f32[1, 7, 6], one, (), (1, 2), -2.0, f32)
        yield cls(u8[7, 3], (i32[5, 4],), (f32[5, 4],), (0,), None, u8)
        yield cls(f16[3, 33], (i32[7, 18],), (f32[7, 18],), (1,), None, f32)
