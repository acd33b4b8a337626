"""Convolutions of any number of spatial axes, channels second or last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, accumulator, grid, reduce, select
from hidet.compute.functions import both
from hidet.compute.sizes import Shape, agree, agree_shape, numbers, same, spelled, tidy
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, constant, wrap
from hidet.ops.tensors.layout import as_laid, channels_second, laid, taken_apart
from hidet.types import DType, Size, TensorType, bf16, f16, f32, f64, i8, i32, u8

Pairs = tuple[tuple[int, int], ...]
"""For each spatial axis what is added before and after."""


def conv(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *,
    stride: int | Sequence[int] = 1, padding: int | Sequence[int | tuple[int, int]] = 0,
    dilation: int | Sequence[int] = 1, groups: int = 1, channels_last: bool = False,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """The convolution of x[n, c, ...] with weight[k, c / groups, ...], plus bias[k].

    `padding` is one number for all sides, one for each axis, or (before, after) for each axis.
    With `channels_last` they are x[n, ..., c], weight[k, ..., c / groups] and y[n, ..., k]. `dtype`
    is the type of the result, by default that of x.
    """
    rank = x.ndim - 2
    return apply(
        Conv, x, weight, bias, stride=each_axis(stride, rank), padding=sides(padding, rank),
        dilation=each_axis(dilation, rank), groups=groups, channels_last=channels_last,
        dtype=dtype,
    )  # fmt: skip


def conv1d(x: Tensor, weight: Tensor, bias: Tensor | None = None, **options: Any) -> Tensor:
    """`conv` with one spatial axis."""
    return conv(of_rank(x, 3), weight, bias, **options)


def conv2d(x: Tensor, weight: Tensor, bias: Tensor | None = None, **options: Any) -> Tensor:
    """`conv` with two spatial axes."""
    return conv(of_rank(x, 4), weight, bias, **options)


def conv3d(x: Tensor, weight: Tensor, bias: Tensor | None = None, **options: Any) -> Tensor:
    """`conv` with three spatial axes."""
    return conv(of_rank(x, 5), weight, bias, **options)


def of_rank(x: Tensor, rank: int) -> Tensor:
    """`x`, if it has so many axes."""
    if x.ndim != rank:
        raise ShapeMismatch(f"x has {x.ndim} dimensions, not {rank}")
    return x


def each_axis(value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """One number for each axis."""
    found = (value,) * rank if isinstance(value, int) else tuple(value)
    found = found * rank if len(found) == 1 else found
    if len(found) != rank:
        raise BadArgument(f"{found} does not have one number for each of {rank} axes")
    return found


def sides(value: int | Sequence[int | tuple[int, int]], rank: int) -> Pairs:
    """What is added before and after, for each axis."""
    found = (value,) * rank if isinstance(value, int) else tuple(value)
    found = found * rank if len(found) == 1 else found
    if len(found) != rank:
        raise BadArgument(f"padding {found} does not fit {rank} axes")
    return tuple((each, each) if isinstance(each, int) else each for each in found)


def windows(size: Size, window: Size, stride: int, padding: tuple[int, int], dilation: int) -> Size:
    """How many windows fit an axis."""
    reach = dilation * (window - 1) + 1
    count = tidy((size + sum(padding) - reach) // stride + 1)
    if isinstance(count, int) and count < 0:
        raise ShapeMismatch(f"a window of {reach} does not fit an axis of {size} padded {padding}")
    return count


@operator("conv")
class Conv(Op):
    """y[n, k, ...] = bias[k] + sum of x[n, c, ...] * weight[k, c, ...] over a window."""

    x: TensorType
    weight: TensorType
    bias: TensorType | None
    stride: tuple[int, ...]
    padding: Pairs
    dilation: tuple[int, ...]
    groups: int
    channels_last: bool = False
    """Whether x, weight and result have their channels last; else they are second."""
    dtype: DType | None = None
    """The type of the result; None: that of x."""

    factor: ClassVar[float] = 64

    def infer(self) -> TensorType:
        rank = self.x.ndim - 2
        if rank < 1 or self.weight.ndim != rank + 2:
            order = laid(self.channels_last, "n", "c", ("...",))
            raise ShapeMismatch(
                f"conv takes x[{', '.join(order)}] and weight[{', '.join(('k', *order[1:]))}] of "
                f"as many axes, not {spelled(self.x.shape)} and {spelled(self.weight.shape)}"
            )
        images, channels, _ = taken_apart(self.channels_last, self.x.shape)
        out = self.weight.shape[0]
        if not agree(channels, self.each * self.groups):
            raise ShapeMismatch(
                f"x has {channels} channels, weight {self.each} in {self.groups} groups"
            )
        if not same(wrap(out) % self.groups, 0):
            raise ShapeMismatch(f"{out} channels do not make {self.groups} equal groups")
        if self.bias is not None and not agree_shape(self.bias.shape, (out,)):
            raise ShapeMismatch(f"bias is {spelled(self.bias.shape)}, weight has {out} channels")
        return self.result[laid(self.channels_last, images, out, self.spatial())]

    @property
    def result(self) -> DType:
        """The type of the result."""
        return self.dtype or self.x.dtype

    @property
    def each(self) -> Size:
        """The input channels of a group."""
        return taken_apart(self.channels_last, self.weight.shape)[1]

    @property
    def window(self) -> Shape:
        """The spatial sizes of the weight."""
        return taken_apart(self.channels_last, self.weight.shape)[2]

    @property
    def sizes(self) -> Shape:
        """The spatial sizes of x."""
        return taken_apart(self.channels_last, self.x.shape)[2]

    def spatial(self) -> Shape:
        """The spatial sizes of the result."""
        return tuple(
            windows(size, window, self.stride[axis], self.padding[axis], self.dilation[axis])
            for axis, (size, window) in enumerate(zip(self.sizes, self.window, strict=True))
        )

    def define(self, x: Grid, weight: Grid, bias: Grid | None) -> Grid:
        wide = accumulator(x.dtype)
        out, last = self.weight.shape[0] // self.groups, self.channels_last

        def element(*index: Expr) -> Expr:
            n, k, where = taken_apart(last, index)

            def value(*inner: Expr) -> Expr:
                c, window = (inner[-1], inner[:-1]) if last else (inner[0], inner[1:])
                channel = c if self.groups == 1 else k // out * self.each + c
                place = self.positions(where, window)
                found = padded(x[laid(last, n, channel, place)], place, self.sizes, self.padding)
                return found.cast(wide) * weight[(k, *inner)].cast(wide)

            total = reduce(self.weight.shape[1:], value, "sum")
            return (total if bias is None else total + bias[k].cast(wide)).cast(self.result)

        return grid(self.infer().shape, element)

    def positions(self, where: Sequence[Expr], window: Sequence[Expr]) -> list[Expr]:
        """Where in x a window's element is; outside of it in the padding."""
        return [
            i * self.stride[axis] + w * self.dilation[axis] - self.padding[axis][0]
            for axis, (i, w) in enumerate(zip(where, window, strict=True))
        ]

    def reference(self, x: Any, weight: Any, bias: Any) -> Any:
        if self.result.is_integer:  # float64 holds sums of products of bytes exactly
            x, weight = x.astype(np.float64), weight.astype(np.float64)
        x, weight = (channels_second(each, self.channels_last) for each in (x, weight))
        wide = np.pad(x, ((0, 0), (0, 0), *self.padding))
        out = np.zeros((x.shape[0], weight.shape[0], *numbers(self.spatial())))
        k = out.shape[1]
        parts = np.split(wide, self.groups, axis=1)
        for offset in np.ndindex(*weight.shape[2:]):
            cut: Any = tuple(
                slice(o * d, o * d + (size - 1) * s + 1, s)
                for o, d, s, size in zip(
                    offset, self.dilation, self.stride, out.shape[2:], strict=True
                )
            )
            for group, part in enumerate(parts):
                mine = slice(group * (k // self.groups), (group + 1) * (k // self.groups))
                taps = weight[(mine, slice(None), *offset)]
                out[:, mine] += np.einsum("nc...,kc->nk...", part[(..., *cut)], taps)
        column = (-1,) + (1,) * (x.ndim - 2)
        return as_laid(out if bias is None else out + bias.reshape(column), self.channels_last)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        one, none = (1, 1), ((0, 0), (0, 0))
        yield cls(i32[1, 3, 5, 6], i32[4, 3, 3, 3], None, (1, 1), ((1, 1), (0, 1)), (1, 1), 1)
        yield cls(f32[2, 3, 9, 7], f32[4, 3, 3, 3], f32[4], one, ((1, 1), (1, 1)), one, 1)
        yield cls(f16[1, 4, 8, 8], f16[6, 2, 3, 3], None, (2, 2), ((1, 1), (0, 2)), one, 2)
        yield cls(f32[2, 5, 7, 6], f32[5, 1, 3, 3], f32[5], one, ((2, 2), (2, 2)), (2, 2), 5)
        yield cls(bf16[1, 3, 5, 5], bf16[2, 3, 1, 1], bf16[2], one, none, one, 1)
        yield cls(f64[2, 3, 11], f64[4, 3, 4], None, (3,), ((2, 1),), (2,), 1)
        yield cls(f32[1, 2, 4, 5, 3], f32[3, 2, 2, 2, 2], None, (1, 2, 1), ((0, 0),) * 3,
                  (1, 1, 1), 1)  # fmt: skip
        yield cls(f32[0, 3, 5, 5], f32[4, 3, 3, 3], None, one, none, one, 1)
        yield cls(f32[2, 9, 7, 3], f32[4, 3, 3, 3], f32[4], one, ((1, 1), (1, 1)), one, 1, True)
        yield cls(f16[1, 8, 8, 16], f16[6, 3, 3, 8], None, (2, 2), ((1, 1), (0, 2)), one, 2, True)
        yield cls(f32[2, 7, 6, 5], f32[10, 3, 3, 1], f32[10], one, ((2, 2),) * 2, (2, 2), 5, True)
        yield cls(f64[2, 11, 3], f64[4, 4, 3], None, (3,), ((2, 1),), (2,), 1, True)
        yield cls(u8[1, 5, 7, 6], i8[4, 5, 3, 3], None, one, ((1, 1), (1, 1)), one, 1, dtype=i32)
        yield cls(i8[2, 7, 6, 10], i8[6, 3, 3, 5], None, (2, 2), ((1, 1), (0, 1)), one, 2, True,
                  i32)  # fmt: skip


def padded(
    element: Expr, position: Sequence[Expr], sizes: Shape, padding: Pairs, fill: float = 0.0
) -> Expr:
    """An element of an image at a place, `fill` where that lies outside of `sizes`."""
    inside = [
        test
        for e, size, (before, after) in zip(position, sizes, padding, strict=True)
        for test, needed in ((e >= 0, before), (e < size, after))
        if needed
    ]
    if not inside:
        return element
    return select(both(*inside), element, constant(fill, element.dtype))
