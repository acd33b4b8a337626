"""Transposed convolutions, computed as convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hidet.compute.sizes import tidy
from hidet.errors import ShapeMismatch
from hidet.graph import Tensor
from hidet.ops.tensors.pad import pad
from hidet.ops.tensors.shape import expand, permute, reshape
from hidet.ops.tensors.slicing import flip
from hidet.ops.tensors.slicing import slice as slice_axis
from hidet.ops.windows.conv import conv, each_axis


def conv_transpose(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *,
    stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The transposed convolution of x[n, c, ...] with weight[c, k / groups, ...], plus bias[k].

    It is the gradient of a convolution with respect to its input. It is computed as a convolution
    with the reversed weight: one for each remainder of a position by the stride (`by_remainders`),
    or, where windows are dilated, of x with zeros between its elements.
    """
    rank = x.ndim - 2
    steps, cut, more, apart = (
        each_axis(each, rank) for each in (stride, padding, output_padding, dilation)
    )
    window = window_of(weight)
    if any(step > 1 for step in steps) and all(each == 1 for each in apart):
        return by_remainders(x, weight, bias, steps, cut, more, groups)
    sides = []
    for axis, size in enumerate(window):
        around = apart[axis] * (size - 1) - cut[axis]
        sides.append((around, around + more[axis]))
    wide = cropped(spread_out(x, steps), sides)
    padding_ = [(max(before, 0), max(after, 0)) for before, after in sides]
    turned = reversed_weight(weight, groups)
    return conv(wide, turned, bias, padding=padding_, dilation=apart, groups=groups)


def by_remainders(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    steps: Sequence[int],
    cut: Sequence[int],
    more: Sequence[int],
    groups: int,
) -> Tensor:
    """What lands on the places that leave one remainder by the stride is a convolution of x with
    every `step`-th element of the window: all remainders are channels of one convolution.

    y[step * q + r - cut] = sum of x[q - t] * weight[r + step * t] over t
    """
    sides, first, sizes = [], [], []
    for axis, step in enumerate(steps):
        window, size = window_of(weight)[axis], x.shape[2 + axis]
        length = window + more[axis] - 2 * cut[axis] - step  # of the result, beside size * step
        first.append(cut[axis] % step)
        sizes.append(tidy(size * step + length))
        taps, skipped = -(-window // step), cut[axis] // step
        beyond = -(-(first[axis] + length) // step)
        sides.append((taps - 1 - skipped, beyond + skipped))
    padding = [(max(before, 0), max(after, 0)) for before, after in sides]
    turned = weight_by_remainders(weight, steps, groups)
    shift = None if bias is None else bias_by_remainders(bias, prod(steps), groups)
    parts = conv(cropped(x, sides), turned, shift, padding=padding, groups=groups)
    whole = interleaved(parts, steps, groups)
    for axis, (begin, size) in enumerate(zip(first, sizes, strict=True), start=2):
        whole = slice_axis(whole, axis, begin, tidy(begin + size))
    return whole


def window_of(weight: Tensor) -> list[int]:
    """The sizes of the window, which have to be known."""
    window = [size for size in weight.shape[2:] if isinstance(size, int)]
    if len(window) < weight.ndim - 2:
        raise ShapeMismatch("a transposed convolution with a window of unknown size")
    return window


def weight_by_remainders(weight: Tensor, steps: Sequence[int], groups: int) -> Tensor:
    """weight[c, k / groups, ...] as weight[groups * remainders * k / groups, c / groups, ...]."""
    (channels, out), window = weight.shape[:2], window_of(weight)
    each, rank = tidy(channels // groups), len(steps)
    taps = [-(-size // step) for size, step in zip(window, steps, strict=True)]
    whole = [count * step for count, step in zip(taps, steps, strict=True)]
    widths = [(0, size - old) for size, old in zip(whole, window, strict=True)]
    parts = reshape(weight, (groups, each, out, *window))
    split = [size for pair in zip(taps, steps, strict=True) for size in pair]
    parts = reshape(pad(parts, [(0, 0)] * 3 + widths), (groups, each, out, *split))
    counts, remainders = (range(3 + first, 3 + 2 * rank, 2) for first in (0, 1))
    turned = permute(parts, (0, *remainders, 2, 1, *counts))
    found = reshape(turned, (tidy(prod(steps) * out * groups), each, *taps))
    return flip(found, tuple(range(2, 2 + rank)))


def bias_by_remainders(bias: Tensor, remainders: int, groups: int) -> Tensor:
    """The bias of each channel of such a weight."""
    out = tidy(bias.shape[0] // groups)
    wide = expand(reshape(bias, (groups, 1, out)), (groups, remainders, out))
    return reshape(wide, (tidy(groups * remainders * out),))


def interleaved(parts: Tensor, steps: Sequence[int], groups: int) -> Tensor:
    """The places of all remainders side by side."""
    images, channels, *sizes = parts.shape
    out, rank = tidy(channels // (groups * prod(steps))), len(steps)
    apart = reshape(parts, (images, groups, *steps, out, *sizes))
    pairs = [axis for step in range(rank) for axis in (3 + rank + step, 2 + step)]
    wide = [tidy(size * step) for size, step in zip(sizes, steps, strict=True)]
    together = permute(apart, (0, 1, 2 + rank, *pairs))
    return reshape(together, (images, tidy(groups * out), *wide))


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
