"""Deformable convolutions: the elements of each window are moved by offsets that a tensor holds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, accumulator, grid, maximum, minimum, select
from hidet.compute.functions import both, floor
from hidet.compute.places import unravel
from hidet.compute.sizes import Shape, numbers, product, same
from hidet.errors import DtypeMismatch, ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, constant
from hidet.ops.products.matmul import matmul
from hidet.ops.resampling.interpolation import added, linear_weight
from hidet.ops.tensors.shape import reshape
from hidet.ops.windows.conv import Pairs, each_axis, sides, windows
from hidet.types import TensorType, f16, f32, f64, i32


def deform_conv(
    x: Tensor, weight: Tensor, offset: Tensor, bias: Tensor | None = None,
    mask: Tensor | None = None, *, stride: int | Sequence[int] = 1,
    padding: int | Sequence[int | tuple[int, int]] = 0, dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """The convolution of x[n, c, ...] with each element of its windows moved by `offset`.

    offset[n, groups · elements · axes, ...] moves the elements of a window along each axis, for
    each group of consecutive channels; mask[n, groups · elements, ...] multiplies them. Positions
    between elements are interpolated linearly, with zeros outside. `weight` and the rest are as for
    `conv`. Raises ShapeMismatch or DtypeMismatch. Source: ONNX DeformConv-22; Zhu et al. 2018.
    """
    rank = x.ndim - 2
    window = tuple(weight.shape[2:])
    if weight.ndim != x.ndim or not all(isinstance(each, int) for each in window):
        raise ShapeMismatch(f"deform_conv of {x.type} with weights {weight.type}")
    columns = apply(
        DeformColumns, x, offset, mask, window=window, stride=each_axis(stride, rank),
        padding=sides(padding, rank), dilation=each_axis(dilation, rank),
    )  # fmt: skip
    outer, places = columns.shape[0], columns.shape[3:]
    kernels, depth = weight.shape[0], product(weight.shape[1:])
    if not isinstance(kernels, int) or kernels % groups:
        raise ShapeMismatch(f"{kernels} kernels in {groups} groups")
    flat = reshape(columns, (outer, groups, depth, product(places)))
    found = matmul(reshape(weight, (groups, kernels // groups, depth)), flat)
    y = reshape(found, (outer, kernels, *places))
    return y if bias is None else y + reshape(bias, (-1, *(1,) * rank))


@operator("deform_columns")
class DeformColumns(Op):
    """[n, c, elements, ...]: the elements of each window of x[n, c, ...], moved by the offset."""

    x: TensorType
    offset: TensorType
    mask: TensorType | None
    window: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Pairs
    dilation: tuple[int, ...]

    factor: ClassVar[float] = 64

    def infer(self) -> TensorType:
        rank, elements = len(self.window), int(np.prod(self.window))
        if self.x.ndim != rank + 2 or self.offset.ndim != rank + 2:
            raise ShapeMismatch(f"offsets {self.offset} for {self.x}")
        if not (self.x.dtype.is_float and self.offset.dtype.is_float):
            raise DtypeMismatch("deform_conv takes floating-point images and offsets")
        channels, moved = self.x.shape[1], self.offset.shape[1]
        if not isinstance(channels, int) or not isinstance(moved, int) or moved % (elements * rank):
            raise ShapeMismatch(f"{moved} offsets for windows of {elements} elements")
        if channels % self.runs:
            raise ShapeMismatch(f"{channels} channels do not make {self.runs} equal runs")
        wanted = (self.x.shape[0], None, *self.places())
        for each, size in ((self.offset, moved), (self.mask, self.runs * elements)):
            pairs = zip(each.shape, (wanted[0], size, *wanted[2:]), strict=True) if each else ()
            if any(b is not None and same(a, b) is False for a, b in pairs):
                raise ShapeMismatch(f"offsets or masks {each} for windows at {self.places()}")
        return self.x.dtype[(*self.x.shape[:2], elements, *self.places())]

    @property
    def runs(self) -> int:
        """In how many runs the channels are moved alike."""
        each = int(np.prod(self.window)) * len(self.window)
        return numbers(self.offset.shape[1:2])[0] // each

    def places(self) -> Shape:
        """How many windows there are along each axis."""
        each = zip(
            self.x.shape[2:], self.window, self.stride, self.padding, self.dilation, strict=True
        )
        return tuple(windows(*one) for one in each)

    def define(self, x: Grid, offset: Grid, mask: Grid | None) -> Grid:
        wide = f64 if f64 in (self.x.dtype, self.offset.dtype) else f32
        sum_type, rank = accumulator(x.dtype), len(self.window)
        elements, run = int(np.prod(self.window)), numbers(x.shape[1:2])[0] // self.runs

        def element(n: Expr, c: Expr, k: Expr, *where: Expr) -> Expr:
            number = c // run * elements + k
            places = []
            for axis, (i, inner) in enumerate(zip(where, unravel(k, self.window), strict=True)):
                start = i * self.stride[axis] - self.padding[axis][0]
                moved = offset[(n, number * rank + axis, *where)].cast(wide)
                # Apart, so that what is added to a far place keeps its fraction.
                near = start + inner * self.dilation[axis]
                places.append((near, maximum(minimum(moved, 1e9), -1e9)))

            def term(*taps: Expr) -> Expr:
                index, tests = [], []
                weight: Expr = constant(1, wide)
                for (near, moved), tap, size in zip(places, taps, x.shape[2:], strict=True):
                    base = floor(moved)
                    at = near + base.cast(i32) + tap
                    weight = weight * linear_weight(tap.cast(wide) - (moved - base))
                    index.append(at)
                    tests += [at >= 0, at < size]
                value = x[(n, c, *index)].cast(sum_type) * weight.cast(sum_type)
                return select(both(*tests), value, constant(0, sum_type))

            value = added((2,) * rank, term)
            if mask is not None:
                value = value * mask[(n, number, *where)].cast(sum_type)
            return value.cast(x.dtype)

        return grid(self.infer().shape, element)

    def reference(self, x: Any, offset: Any, mask: Any) -> Any:
        out = np.zeros(numbers(self.infer().shape))
        rank, run = len(self.window), x.shape[1] // self.runs
        moves = offset.reshape(len(x), self.runs, out.shape[2], rank, *out.shape[3:])
        grown = np.pad(x, [(0, 0), (0, 0)] + [(1, 1)] * rank)
        for n, c, k, *where in np.ndindex(*out.shape):
            inner = np.unravel_index(k, self.window)
            begin = [i * s - p[0] for i, s, p in zip(where, self.stride, self.padding, strict=True)]
            step = np.array(inner) * self.dilation
            place = np.array(begin) + step + moves[(n, c // run, k, slice(None), *where)]
            low = np.floor(place).astype(int)
            for taps in itertools.product((0, 1), repeat=rank):
                weight = np.prod(1 - np.abs(low + taps - place))
                at = np.clip(low + taps + 1, 0, np.array(grown.shape[2:]) - 1)
                out[(n, c, k, *where)] += weight * grown[(n, c, *at)]
        if mask is None:
            return out
        masks = mask.reshape(len(x), self.runs, *out.shape[2:])
        return out * np.repeat(masks, run, 1)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        two, one = (2, 2), ((1, 1), (0, 1))
        yield cls(f32[2, 4, 5, 4], f32[2, 16, 6, 4], f32[2, 8, 6, 4], two, (1, 1), one, (1, 1))
        yield cls(f16[1, 3, 5, 6], f32[1, 8, 2, 3], None, two, two, ((0, 0), (0, 0)), (1, 1))
        yield cls(f32[1, 2, 9], f32[1, 3, 5], f32[1, 3, 5], (3,), (1,), ((0, 0),), (2,))
