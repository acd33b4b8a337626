"""Transposed convolutions, as the convolutions that they are."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.compute.sizes import tidy
from hidet.errors import ShapeMismatch
from hidet.graph import Tensor
from hidet.ops.conv import conv, each_axis
from hidet.ops.pad import pad
from hidet.ops.shape import permute, reshape
from hidet.ops.slicing import flip
from hidet.ops.slicing import slice as slice_axis


def conv_transpose(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *,
    stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of a convolution for its input x[n, c, ...], with weight[c, k / groups, ...].

    It is computed as a convolution of x, with zeros between its elements, with the weight reversed.
    """
    rank = x.ndim - 2
    steps, cut, more, apart = (
        each_axis(each, rank) for each in (stride, padding, output_padding, dilation)
    )
    window = weight.shape[2:]
    sides = []
    for axis in range(rank):
        size = window[axis]
        if not isinstance(size, int):
            raise ShapeMismatch("a transposed convolution with a window of unknown size")
        around = apart[axis] * (size - 1) - cut[axis]
        sides.append((around, around + more[axis]))
    wide = cropped(spread_out(x, steps), sides)
    padding_ = [(max(before, 0), max(after, 0)) for before, after in sides]
    turned = reversed_weight(weight, groups)
    return conv(wide, turned, bias, padding=padding_, dilation=apart, groups=groups)


def spread_out(x: Tensor, steps: Sequence[int]) -> Tensor:
    """x with `steps` - 1 zeros between elements along each spatial axis."""
    for axis, step in enumerate(steps, start=2):
        if step == 1:
            continue
        size = x.shape[axis]
        split = reshape(x, (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :]))
        widths = [(0, 0)] * split.ndim
        widths[axis + 1] = (0, step - 1)
        wide = tidy(size * step)
        joined = reshape(pad(split, widths), (*x.shape[:axis], wide, *x.shape[axis + 1 :]))
        x = slice_axis(joined, axis, 0, tidy(wide - (step - 1)))
    return x


def cropped(x: Tensor, sides: Sequence[tuple[int, int]]) -> Tensor:
    """x without what lies outside where the padding is negative."""
    for axis, (before, after) in enumerate(sides, start=2):
        first, last = max(-before, 0), max(-after, 0)
        if first or last:
            x = slice_axis(x, axis, first, tidy(x.shape[axis] - last))
    return x


def reversed_weight(weight: Tensor, groups: int) -> Tensor:
    """weight[c, k / groups, ...] as weight[k, c / groups, ...], each window back to front."""
    channels, out, *window = weight.shape
    each = tidy(channels // groups)
    parts = reshape(weight, (groups, each, out, *window))
    order = (0, 2, 1, *range(3, 3 + len(window)))
    turned = reshape(permute(parts, order), (tidy(out * groups), each, *window))
    return flip(turned, tuple(range(2, 2 + len(window))))
