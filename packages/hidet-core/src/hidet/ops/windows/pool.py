"""Pooling: windows of the spatial axes combined, channels second or last."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from hidet.compute import Grid, accumulator, arg_reduce, grid, maximum, minimum, reduce, select
from hidet.compute.places import ravel, unravel
from hidet.compute.reduction import identity
from hidet.compute.sizes import Shape, numbers, product, tidy
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import Op, Tensor, apply, apply_all, family, operator
from hidet.ir.expr import Expr, wrap
from hidet.ops.tensors.layout import as_laid, channels_second, laid, taken_apart
from hidet.ops.windows.conv import Pairs, each_axis, padded, sides, windows
from hidet.types import Size, TensorType, f16, f32, f64, i64

Each = int | Sequence[int]
Margin = int | Sequence[int | tuple[int, int]]
"""One number for all sides, one for each axis, or (before, after) for each axis."""
Taken: TypeAlias = Callable[..., Expr]
"""The element of x at a place in the window."""


def max_pool(
    x: Tensor, window: Each, *, stride: Each | None = None, padding: Margin = 0, dilation: Each = 1,
    ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The largest element of each window of x[n, c, ...]; NaN if there is one."""
    return apply(MaxPool, x, **pooling(x, window, stride, padding, ceil_mode),
                 dilation=each_axis(dilation, x.ndim - 2))  # fmt: skip


def max_pool_with_indices(
    x: Tensor, window: Each, *, stride: Each | None = None, padding: Margin = 0, dilation: Each = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool`, and the position (int64) of each largest element in its flattened plane."""
    options = pooling(x, window, stride, padding, ceil_mode)
    values, where = apply_all(
        MaxPoolIndices, x, **options, dilation=each_axis(dilation, x.ndim - 2)
    )
    return values, where


def avg_pool(
    x: Tensor, window: Each, *, stride: Each | None = None, padding: Margin = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor: int | None = None,
    dilation: Each = 1,
) -> Tensor:  # fmt: skip
    """The mean of each window of x[n, c, ...]; the padding's zeros count unless told not to.

    `divisor` replaces the number of elements.
    """
    return apply(AvgPool, x, **pooling(x, window, stride, padding, ceil_mode),
                 count_include_pad=count_include_pad, divisor=divisor,
                 dilation=each_axis(dilation, x.ndim - 2))  # fmt: skip


def pooling(
    x: Tensor, window: Each, stride: Each | None, padding: Margin, ceil_mode: bool
) -> dict[str, Any]:
    """The attributes that pooling operators share."""
    rank = x.ndim - 2
    shape = each_axis(window, rank)
    return {
        "window": shape,
        "stride": shape if stride is None else each_axis(stride, rank),
        "padding": sides(padding, rank),
        "ceil_mode": ceil_mode,
    }


@family
class Pool(Op):
    """Windows of the spatial axes, combined."""

    x: TensorType
    window: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Pairs
    ceil_mode: bool
    channels_last: bool = field(default=False, kw_only=True)
    """Whether x and the result have their channels last; else they are second."""

    def spread(self) -> tuple[int, ...]:
        """How far a window's elements are apart, for each axis."""
        return (1,) * len(self.window)

    def infer(self) -> Any:
        if self.x.ndim != len(self.window) + 2:
            raise ShapeMismatch(f"a {len(self.window)}-d window on {self.x.ndim} dimensions")
        for sizes, window, apart in zip(self.padding, self.window, self.spread(), strict=True):
            if max(sizes) > (window - 1) * apart:
                raise BadArgument(f"padding {max(sizes)} would hold whole windows of {window}")
        images, channels, _ = taken_apart(self.channels_last, self.x.shape)
        return self.x.dtype[laid(self.channels_last, images, channels, self.spatial())]

    @property
    def sizes(self) -> Shape:
        """The spatial sizes of x."""
        return taken_apart(self.channels_last, self.x.shape)[2]

    def spatial(self) -> Shape:
        """The spatial sizes of the result."""
        return tuple(map(self.count, range(len(self.window))))

    def count(self, axis: int) -> Size:
        """How many windows an axis has."""
        size, stride, padding = self.sizes[axis], self.stride[axis], self.padding[axis]
        window, apart = self.window[axis], self.spread()[axis]
        if not self.ceil_mode:
            return windows(size, window, stride, padding, apart)
        count = windows(size, window, stride, (padding[0], padding[1] + stride - 1), apart)
        # A window must start within the input or the padding before it.
        limit = (size + padding[0] + stride - 1) // stride
        if isinstance(count, int) and isinstance(limit, int):
            return min(count, limit)
        return tidy(minimum(wrap(count), limit))

    def reach(self) -> Pairs:
        """The padding that windows may touch: with ceil_mode also beyond the end."""
        return tuple((before, after or int(self.ceil_mode)) for before, after in self.padding)

    def positions(self, where: Sequence[Expr], inner: Sequence[Expr]) -> list[Expr]:
        """Where in x a window's element is."""
        return [
            i * self.stride[axis] + w * self.spread()[axis] - self.padding[axis][0]
            for axis, (i, w) in enumerate(zip(where, inner, strict=True))
        ]

    def of_windows(
        self, x: Grid, combined: Callable[[Taken, Sequence[Expr]], Expr], fill: float
    ) -> Grid:
        """Each element of the result: `combined(taken, where)`, where `taken` of a place in the
        window is the element of x there, `fill` in the padding."""

        def element(*index: Expr) -> Expr:
            n, c, where = taken_apart(self.channels_last, index)

            def taken(*inner: Expr) -> Expr:
                place = self.positions(where, inner)
                found = x[laid(self.channels_last, n, c, place)]
                return padded(found, place, self.sizes, self.reach(), fill)

            return combined(taken, where)

        shape = self.results()[0].shape
        return grid(shape, element)

    def pieces(self, x: Any, fill: float) -> Iterator[tuple[Any, Any]]:
        """For the reference: each place with the window's elements of x[n, c, ...], padding as
        `fill`."""
        counts = numbers(self.spatial())
        room = [
            (before, (out - 1) * s + (w - 1) * d + 1)
            for (before, _), out, s, w, d in zip(
                self.padding, counts, self.stride, self.window, self.spread(), strict=True
            )
        ]
        after = [max(0, n - b - size) for (b, n), size in zip(room, x.shape[2:], strict=True)]
        widths = [(b, a) for (b, _), a in zip(room, after, strict=True)]
        wide = np.pad(x, ((0, 0), (0, 0), *widths), constant_values=fill)
        for index in np.ndindex(*counts):
            cut: Any = tuple(
                slice(i * s, i * s + (w - 1) * d + 1, d)
                for i, s, w, d in zip(index, self.stride, self.window, self.spread(), strict=True)
            )
            yield index, wide[(..., *cut)].reshape(*x.shape[:2], -1)

    def filled(self, x: Any, values: Iterator[tuple[Any, Any]]) -> Any:
        """For the reference: the result with these values [n, c] at these places."""
        out = np.empty((*x.shape[:2], *numbers(self.spatial())), x.dtype)
        for index, value in values:
            out[(..., *index)] = value
        return as_laid(out, self.channels_last)


@operator("max_pool")
class MaxPool(Pool):
    """The largest element of each window."""

    dilation: tuple[int, ...]

    def spread(self) -> tuple[int, ...]:
        return self.dilation

    def define(self, x: Grid) -> Grid:
        return self.of_windows(x, lambda taken, _: reduce(self.window, taken, "max"), lowest(x))

    def reference(self, x: Any) -> Any:
        x = channels_second(x, self.channels_last)
        low = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        return self.filled(x, ((at, piece.max(-1)) for at, piece in self.pieces(x, low)))

    @classmethod
    def samples(cls) -> Iterator[Self]:
        two, one = ((1, 1), (1, 1)), (1, 1)
        yield cls(f32[2, 3, 9, 7], (3, 3), (2, 2), two, False, one)
        yield cls(f16[1, 2, 8, 5], (2, 2), (2, 2), ((0, 0), (0, 0)), True, one)
        yield cls(f32[1, 2, 7, 8], (3, 2), (1, 3), ((1, 1), (0, 0)), True, (2, 1))
        yield cls(f64[2, 3, 11], (4,), (3,), ((1, 1),), False, (1,))
        yield cls(i64[1, 1, 5, 5], (2, 2), (1, 1), ((0, 0), (0, 0)), False, one)
        yield cls(f16[2, 9, 7, 3], (3, 3), (2, 2), two, False, one, channels_last=True)
        yield cls(
            f32[1, 7, 8, 8], (3, 2), (1, 3), ((1, 1), (0, 0)), True, (2, 1), channels_last=True
        )


@operator("max_pool_indices")
class MaxPoolIndices(Pool):
    """The largest element of each window, and where in its plane it is."""

    dilation: tuple[int, ...]

    def spread(self) -> tuple[int, ...]:
        return self.dilation

    def infer(self) -> tuple[TensorType, TensorType]:
        values: TensorType = super().infer()
        return values, i64[values.shape]

    def define(self, x: Grid) -> tuple[Grid, Grid]:
        def position(taken: Taken, where: Sequence[Expr]) -> Expr:
            first = arg_reduce(self.window, taken, "max")
            place = self.positions(where, unravel(first, self.window))
            # Padding comes first where all else is as low: the first element of x is meant.
            inside = [
                select(at < 0, at % d, at) for at, d in zip(place, self.dilation, strict=True)
            ]
            return ravel(inside, self.sizes).cast(i64)

        values = self.of_windows(x, lambda taken, _: reduce(self.window, taken, "max"), lowest(x))
        return values, self.of_windows(x, position, lowest(x))

    def reference(self, x: Any) -> Any:
        x = channels_second(x, self.channels_last)
        plane = x.shape[2:]
        flat = np.arange(math.prod(plane)).reshape(1, 1, *plane) + np.zeros(x.shape, np.int64)
        pairs = list(zip(self.pieces(x, -np.inf), self.pieces(flat, -1), strict=True))
        values = self.filled(x, ((at, piece.max(-1)) for (at, piece), _ in pairs))

        def first(piece: Any, places: Any) -> Any:
            largest = (piece == piece.max(-1, keepdims=True)) | (piece != piece)
            found = (largest & (places >= 0)).argmax(-1)
            return np.take_along_axis(places, found[..., None], -1)[..., 0]

        where = ((at, first(piece, places)) for (at, piece), (_, places) in pairs)
        return values, self.filled(flat, where)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[2, 3, 9, 7], (3, 3), (2, 2), ((1, 1), (1, 1)), False, (1, 1))
        yield cls(f16[1, 2, 8, 5], (2, 2), (2, 2), ((0, 0), (0, 0)), True, (1, 1))
        yield cls(f32[2, 9, 7, 3], (3, 3), (2, 2), ((1, 1),) * 2, False, (1, 1), channels_last=True)


@operator("avg_pool")
class AvgPool(Pool):
    """The mean of each window."""

    count_include_pad: bool
    divisor: int | None
    dilation: tuple[int, ...]

    factor: ClassVar[float] = 16

    def spread(self) -> tuple[int, ...]:
        return self.dilation

    def define(self, x: Grid) -> Grid:
        wide = accumulator(x.dtype)

        def mean(taken: Taken, where: Sequence[Expr]) -> Expr:
            total = reduce(self.window, lambda *inner: taken(*inner).cast(wide), "sum")
            count: Any = self.divisor or product(
                self.covered(i, axis) for axis, i in enumerate(where)
            )
            return (total / wrap(count).cast(wide)).cast(x.dtype)

        return self.of_windows(x, mean, 0.0)

    def covered(self, i: Expr, axis: int) -> Size:
        """How many elements of an axis window number `i` counts."""
        size, (before, after) = self.sizes[axis], self.padding[axis]
        window, apart = self.window[axis], self.dilation[axis]
        if not self.ceil_mode and (self.count_include_pad or before == after == 0):
            return window
        start = i * self.stride[axis] - before
        end = size + after if self.count_include_pad else wrap(size)
        last = minimum((end - start + (apart - 1)) // apart, window)
        return last if self.count_include_pad else last - maximum(apart - 1 - start, 0) // apart

    def reference(self, x: Any) -> Any:
        x = channels_second(x, self.channels_last)
        ones = np.pad(
            np.ones(x.shape[2:]), self.padding, constant_values=float(self.count_include_pad)
        )

        def means() -> Iterator[tuple[Any, Any]]:
            for index, piece in self.pieces(x, 0.0):
                cut: Any = tuple(
                    slice(i * s, i * s + (w - 1) * d + 1, d)
                    for i, s, w, d in zip(
                        index, self.stride, self.window, self.dilation, strict=True
                    )
                )
                yield index, piece.sum(-1) / (self.divisor or ones[cut].sum())

        return self.filled(x, means())

    @classmethod
    def samples(cls) -> Iterator[Self]:
        two, none, one = ((1, 1), (1, 1)), ((0, 0), (0, 0)), (1, 1)
        yield cls(f32[2, 3, 9, 7], (3, 3), (2, 2), two, False, True, None, one)
        yield cls(f32[2, 3, 9, 8], (3, 3), (2, 2), two, True, True, None, one)
        yield cls(f32[2, 3, 9, 8], (3, 3), (2, 2), two, True, False, None, one)
        yield cls(f16[1, 2, 8, 5], (2, 2), (2, 2), none, False, False, None, one)
        yield cls(f64[1, 2, 9], (4,), (2,), ((2, 2),), False, False, 3, (1,))
        yield cls(f16[2, 9, 8, 3], (3, 3), (2, 2), two, True, False, None, one, channels_last=True)
        yield cls(f32[1, 2, 9, 10], (3, 2), (2, 3), two, True, False, None, (2, 3))
        yield cls(f32[1, 2, 9, 10], (2, 3), (3, 1), ((1, 0), (2, 4)), True, True, None, (1, 2))


def lowest(x: Grid) -> Any:
    """What no element of x is less than."""
    return identity("max", x.dtype).value
