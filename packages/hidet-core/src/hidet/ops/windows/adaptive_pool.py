"""Pooling to a given size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, accumulator, arg_reduce, grid, reduce, select
from hidet.compute.functions import both
from hidet.compute.reduction import identity
from hidet.compute.sizes import numbers, product, tidy
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import Op, Tensor, apply, family, operator
from hidet.ir.expr import Expr, constant, wrap
from hidet.types import Size, TensorType, f16, f32, i64


def adaptive_avg_pool(x: Tensor, size: Sequence[int]) -> Tensor:
    """The means of windows of the trailing axes; `size` is the size of the result along them."""
    return apply(AdaptiveAvgPool, x, size=tuple(size))


def adaptive_max_pool(x: Tensor, size: Sequence[int]) -> Tensor:
    """The largest elements of windows of the trailing axes, `size` of them along each axis."""
    return apply(AdaptiveMaxPool, x, size=tuple(size))


def adaptive_max_indices(x: Tensor, size: Sequence[int]) -> Tensor:
    """The positions (int64) of `adaptive_max_pool`'s elements in the flattened trailing axes."""
    return apply(AdaptiveMaxIndices, x, size=tuple(size))


@family
class AdaptivePool(Op):
    """Almost equal pieces of the trailing axes, combined."""

    x: TensorType
    size: tuple[int, ...]

    factor: ClassVar[float] = 16

    def infer(self) -> TensorType:
        if self.x.ndim <= len(self.size):
            raise ShapeMismatch(f"{len(self.size)} sizes for {self.x.ndim} dimensions")
        if any(size < 1 for size in self.size):
            raise BadArgument(f"sizes {self.size} must be positive")
        return self.x.dtype[*self.x.shape[: -len(self.size)], *self.size]

    def bounds(self, where: Sequence[Expr], sizes: Sequence[Size]) -> list[tuple[Expr, Expr]]:
        """Start and end of a piece along each axis."""
        return [
            (i * size // out, ((i + 1) * size + (out - 1)) // out)
            for i, size, out in zip(where, sizes, self.size, strict=True)
        ]

    def extents(self, sizes: Sequence[Size]) -> list[Size]:
        """The size of the largest piece along each axis."""
        return [longest(size, out) for size, out in zip(sizes, self.size, strict=True)]

    def combined(self, x: Grid, index: Sequence[Expr], value: Any, fill: Any, how: Any) -> Expr:
        """`value` of the piece's elements combined; `fill` where a piece is shorter."""
        sizes = x.shape[-len(self.size) :]
        return reduce(self.extents(sizes), self.reader(x, index, value, fill), how)

    def reader(self, x: Grid, index: Sequence[Expr], value: Any, fill: Any) -> Callable[..., Expr]:
        """`value` of an element of the piece by its place in the largest one; else `fill`."""
        rank = len(self.size)
        outer, where = index[:-rank], index[-rank:]
        sizes = x.shape[-rank:]
        bounds = self.bounds(where, sizes)
        even = [
            isinstance(size, int) and size % out == 0
            for size, out in zip(sizes, self.size, strict=True)
        ]

        def element(*inner: Expr) -> Expr:
            position = [start + w for (start, _), w in zip(bounds, inner, strict=True)]
            tests = [
                p < end
                for p, (_, end), whole in zip(position, bounds, even, strict=True)
                if not whole
            ]
            found: Expr = value(x[(*outer, *position)])
            return select(both(*tests), found, fill) if tests else found

        return element

    def pieces(self, x: Any) -> Iterator[tuple[Any, Any]]:
        """For the reference: each trailing index with its piece, flat."""
        rank = len(self.size)
        for index in np.ndindex(*self.size):
            cut: Any = tuple(
                slice(math.floor(i * n / out), math.ceil((i + 1) * n / out))
                for i, n, out in zip(index, x.shape[-rank:], self.size, strict=True)
            )
            yield index, x[(..., *cut)].reshape(*x.shape[:-rank], -1)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[2, 3, 7, 7], (1, 1))
        yield cls(f32[2, 3, 8, 9], (3, 4))
        yield cls(f16[2, 6, 4], (3, 2))
        yield cls(f32[2, 5, 3], (7,))


def longest(size: Size, out: int) -> Size:
    """The size of the largest of `out` almost equal pieces; a bound where it is symbolic."""
    if isinstance(size, int):
        return max(-(-(i + 1) * size // out) - i * size // out for i in range(out))
    return tidy((size + (out - 1)) // out + (out > 1))


@operator("adaptive_avg_pool")
class AdaptiveAvgPool(AdaptivePool):
    """The mean of each piece."""

    def define(self, x: Grid) -> Grid:
        wide = accumulator(x.dtype)

        def element(*index: Expr) -> Expr:
            total = self.combined(x, index, lambda v: v.cast(wide), 0.0, "sum")
            rank = len(self.size)
            pieces = self.bounds(index[-rank:], x.shape[-rank:])
            count = product(end - start for start, end in pieces)
            return (total / wrap(count).cast(wide)).cast(x.dtype)

        return grid(self.infer().shape, element)

    def reference(self, x: Any) -> Any:
        out = np.empty(numbers(self.infer().shape))
        for index, piece in self.pieces(x):
            out[(..., *index)] = piece.mean(-1)
        return out


@operator("adaptive_max_pool")
class AdaptiveMaxPool(AdaptivePool):
    """The largest element of each piece."""

    def define(self, x: Grid) -> Grid:
        low = identity("max", x.dtype).value
        return grid(
            self.infer().shape, lambda *index: self.combined(x, index, lambda v: v, low, "max")
        )

    def reference(self, x: Any) -> Any:
        out = np.empty(numbers(self.infer().shape), x.dtype)
        for index, piece in self.pieces(x):
            out[(..., *index)] = piece.max(-1)
        return out


@operator("adaptive_max_indices")
class AdaptiveMaxIndices(AdaptivePool):
    """Where the largest element of each piece is, the first of equals."""

    factor: ClassVar[float] = 0

    def infer(self) -> TensorType:
        return i64[super().infer().shape]

    def define(self, x: Grid) -> Grid:
        low, rank = identity("max", x.dtype).value, len(self.size)
        sizes = x.shape[-rank:]
        extents = self.extents(sizes)

        def element(*index: Expr) -> Expr:
            found = arg_reduce(extents, self.reader(x, index, lambda v: v, low), "max")
            place: Expr = constant(0, i64)
            starts = [start for start, _ in self.bounds(index[-rank:], sizes)]
            for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
                inner = wrap(product(extents[axis + 1 :])).cast(i64)
                along = found // inner % wrap(extents[axis]).cast(i64) + start.cast(i64)
                place = place * wrap(size).cast(i64) + along
            return place

        return grid(self.infer().shape, element)

    def reference(self, x: Any) -> Any:
        out = np.empty(numbers(self.infer().shape), np.int64)
        places = np.arange(math.prod(x.shape[-len(self.size) :]))
        whole = np.broadcast_to(places.reshape(x.shape[-len(self.size) :]), x.shape)
        for (index, piece), (_, at) in zip(self.pieces(x), self.pieces(whole), strict=True):
            chosen = piece.argmax(-1)[..., None]
            out[(..., *index)] = np.take_along_axis(at, chosen, -1)[..., 0]
        return out
