"""Convolutions of any number of spatial axes, channels second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, accumulator, grid, reduce, select
from hidet.compute.functions import both
from hidet.compute.sizes import Shape, numbers, same, same_shape, spelled, tidy
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, constant, wrap
from hidet.types import Size, TensorType, bf16, f16, f32, f64

Pairs = tuple[tuple[int, int], ...]
"""For each spatial axis what is added before and after."""


def conv(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *,
    stride: int | Sequence[int] = 1, padding: int | Sequence[int | tuple[int, int]] = 0,
    dilation: int | Sequence[int] = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The convolution of x[n, c, ...] with weight[k, c / groups, ...], plus bias[k].

    `padding` is one number for all sides, one for each axis, or (before, after) for each axis.
    """
    rank = x.ndim - 2
    return apply(
        Conv, x, weight, bias, stride=each_axis(stride, rank), padding=sides(padding, rank),
        dilation=each_axis(dilation, rank), groups=groups,
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

    factor: ClassVar[float] = 64

    def infer(self) -> TensorType:
        rank = self.x.ndim - 2
        if rank < 1 or self.weight.ndim != rank + 2:
            raise ShapeMismatch(
                f"conv takes x[n, c, ...] and weight[k, c, ...] of as many axes, not "
                f"{spelled(self.x.shape)} and {spelled(self.weight.shape)}"
            )
        channels, out = self.x.shape[1], self.weight.shape[0]
        if not same(channels, self.weight.shape[1] * self.groups):
            raise ShapeMismatch(
                f"x has {channels} channels, weight {self.weight.shape[1]} in {self.groups} groups"
            )
        if not same(wrap(out) % self.groups, 0):
            raise ShapeMismatch(f"{out} channels do not make {self.groups} equal groups")
        if self.bias is not None and not same_shape(self.bias.shape, (out,)):
            raise ShapeMismatch(f"bias is {spelled(self.bias.shape)}, weight has {out} channels")
        return self.x.dtype[self.x.shape[0], out, *self.spatial()]

    def spatial(self) -> Shape:
        """The spatial sizes of the result."""
        return tuple(
            windows(size, window, self.stride[axis], self.padding[axis], self.dilation[axis])
            for axis, (size, window) in enumerate(
                zip(self.x.shape[2:], self.weight.shape[2:], strict=True)
            )
        )

    def define(self, x: Grid, weight: Grid, bias: Grid | None) -> Grid:
        wide = accumulator(x.dtype)
        each, out = weight.shape[1], weight.shape[0] // self.groups

        def element(n: Expr, k: Expr, *where: Expr) -> Expr:
            def value(c: Expr, *window: Expr) -> Expr:
                channel = c if self.groups == 1 else k // out * each + c
                element = padded(x, (n, channel), self.positions(where, window), self.padding)
                return element.cast(wide) * weight[(k, c, *window)].cast(wide)

            total = reduce(weight.shape[1:], value, "sum")
            return (total if bias is None else total + bias[k].cast(wide)).cast(x.dtype)

        return grid(self.infer().shape, element)

    def positions(self, where: Sequence[Expr], window: Sequence[Expr]) -> list[Expr]:
        """Where in x a window's element is; outside of it in the padding."""
        return [
            i * self.stride[axis] + w * self.dilation[axis] - self.padding[axis][0]
            for axis, (i, w) in enumerate(zip(where, window, strict=True))
        ]

    def reference(self, x: Any, weight: Any, bias: Any) -> Any:
        wide = np.pad(x, ((0, 0), (0, 0), *self.padding))
        out = np.zeros(numbers(self.infer().shape))
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
        return out if bias is None else out + bias.reshape(column)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        one, none = (1, 1), ((0, 0), (0, 0))
        yield cls(f32[2, 3, 9, 7], f32[4, 3, 3, 3], f32[4], one, ((1, 1), (1, 1)), one, 1)
        yield cls(f16[1, 4, 8, 8], f16[6, 2, 3, 3], None, (2, 2), ((1, 1), (0, 2)), one, 2)
        yield cls(f32[2, 5, 7, 6], f32[5, 1, 3, 3], f32[5], one, ((2, 2), (2, 2)), (2, 2), 5)
        yield cls(bf16[1, 3, 5, 5], bf16[2, 3, 1, 1], bf16[2], one, none, one, 1)
        yield cls(f64[2, 3, 11], f64[4, 3, 4], None, (3,), ((2, 1),), (2,), 1)
        yield cls(f32[1, 2, 4, 5, 3], f32[3, 2, 2, 2, 2], None, (1, 2, 1), ((0, 0),) * 3,
                  (1, 1, 1), 1)  # fmt: skip
        yield cls(f32[0, 3, 5, 5], f32[4, 3, 3, 3], None, one, none, one, 1)


def padded(
    x: Grid, front: Sequence[Expr], position: Sequence[Expr], padding: Pairs, fill: float = 0.0
) -> Expr:
    """The element of x at `position` along its trailing axes, `fill` outside of it."""
    element = x[(*front, *position)]
    inside = [
        test
        for e, size, (before, after) in zip(position, x.shape[len(front) :], padding, strict=True)
        for test, needed in ((e >= 0, before), (e < size, after))
        if needed
    ]
    if not inside:
        return element
    return select(both(*inside), element, constant(fill, x.dtype))
