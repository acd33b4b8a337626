"""Views by strides: elements of memory at equal steps along each axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, grid
from hidet.compute.sizes import numbers, tidy
from hidet.compute.strides import row_strides
from hidet.errors import ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.graph.dims import axis_of
from hidet.ir.expr import Expr, wrap
from hidet.ops.tensors.shape import reshape
from hidet.types import Size, TensorType, f16, f32, i64


def as_strided(
    x: Tensor, shape: Sequence[Size], strides: Sequence[Size], offset: Size = 0
) -> Tensor:
    """The element at (i, j, ...) is number `offset + i * strides[0] + ...` of the flattened x."""
    return apply(
        Strided, reshape(x, (-1,)), shape=tuple(shape), strides=tuple(strides), offset=offset
    )


def diagonal(x: Tensor, offset: int = 0, a: int = 0, b: int = 1) -> Tensor:
    """The diagonal of axes `a` and `b` as a new last axis; above the main one by `offset`."""
    first, second = axis_of(a, x.ndim), axis_of(b, x.ndim)
    rows, columns = x.shape[first], x.shape[second]
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise ShapeMismatch("the diagonal of axes of unknown sizes")
    count = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    steps = row_strides(x.shape)
    rest = [axis for axis in range(x.ndim) if axis not in (first, second)]
    start = tidy(steps[second] * offset if offset >= 0 else steps[first] * -offset)
    return as_strided(
        x, [*(x.shape[axis] for axis in rest), count],
        [*(steps[axis] for axis in rest), tidy(steps[first] + steps[second])],
        start if count else 0,
    )  # fmt: skip


def sliding(x: Tensor, axis: int, size: int, step: int) -> Tensor:
    """Windows of `size` elements along `axis`, `step` apart, as a new last axis."""
    where = axis_of(axis, x.ndim)
    whole = x.shape[where] if x.ndim else 1
    if isinstance(whole, int) and size > whole:
        raise ShapeMismatch(f"a window of {size} does not fit an axis of {whole}")
    steps = row_strides(x.shape) or [1]
    shape = list(x.shape) or [1]
    strides = [tidy(steps[where] * step) if a == where else each for a, each in enumerate(steps)]
    shape[where] = tidy((whole - size) // step + 1)
    if not x.ndim:
        shape, strides = [], []
    return as_strided(x, [*shape, size], [*strides, steps[where]])


@operator("as_strided")
class Strided(Op):
    """The element at (i, j, ...) is number `offset + i * strides[0] + ...` of x."""

    x: TensorType
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size

    def infer(self) -> TensorType:
        if self.x.ndim != 1 or len(self.shape) != len(self.strides):
            raise ShapeMismatch("as_strided takes one axis, and a stride for each axis it makes")
        return self.x.dtype[self.shape]

    def define(self, x: Grid) -> Grid:
        def element(*index: Expr) -> Expr:
            place = wrap(self.offset)
            for e, stride in zip(index, self.strides, strict=True):
                place = place + e * stride
            return x[place]

        return grid(self.shape, element)

    def reference(self, x: Any) -> Any:
        (offset,) = numbers((self.offset,))
        place = np.full(numbers(self.shape), offset)
        for axis, step in enumerate(numbers(self.strides)):
            place += np.indices(place.shape)[axis] * step
        return x[place]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[40], (3, 5, 2), (8, 1, 4), 2)
        yield cls(f16[12], (4, 3), (1, 4), 0)
        yield cls(i64[9], (2, 4), (0, 2), 1)
        yield cls(f32[5], (), (), 3)
        yield cls(f32[5], (0, 2), (1, 1), 0)
