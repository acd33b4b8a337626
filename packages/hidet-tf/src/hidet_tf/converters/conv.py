"""Convolutions and their transposes; weights are [window..., in / groups, out]."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.compute.sizes import tidy
from hidet.errors import NotYet
from hidet.frontend.importing.operands import sizes_of
from hidet.graph import Tensor
from hidet.types import Size
from hidet_tf.converters.table import tf
from hidet_tf.converters.windows import explicit, padded, restored, same, second, spatial


@tf("Conv2D")
def conv2d(
    x: Tensor, weight: Tensor, *, strides: Sequence[int], padding: str,
    explicit_paddings: Sequence[int], data_format: str, dilations: Sequence[int],
) -> Tensor:  # fmt: skip
    """The convolution of an image; there are as many groups as the weight's channels fit in x."""
    order = (weight.ndim - 1, weight.ndim - 2, *range(weight.ndim - 2))
    image, taps = second(x, data_format), ops.permute(weight, order)
    return convolved(image, taps, strides, padding, explicit_paddings, data_format, dilations)


@tf("Conv3D")
def conv3d(
    x: Tensor, weight: Tensor, *, strides: Sequence[int], padding: str, data_format: str,
    dilations: Sequence[int],
) -> Tensor:  # fmt: skip
    """The same with three spatial axes."""
    return conv2d(
        x, weight, strides=strides, padding=padding, explicit_paddings=(),
        data_format=data_format, dilations=dilations,
    )  # fmt: skip


@tf("DepthwiseConv2dNative")
def depthwise_conv2d(
    x: Tensor, weight: Tensor, *, strides: Sequence[int], padding: str,
    explicit_paddings: Sequence[int], data_format: str, dilations: Sequence[int],
) -> Tensor:  # fmt: skip
    """Each channel convolved by itself with weight[..., channel, several]."""
    image, (*window, channels, several) = second(x, data_format), weight.shape
    taps = ops.permute(weight, (weight.ndim - 2, weight.ndim - 1, *range(weight.ndim - 2)))
    taps = ops.reshape(taps, (tidy(channels * several), 1, *window))
    return convolved(image, taps, strides, padding, explicit_paddings, data_format, dilations)


def convolved(
    image: Tensor, taps: Tensor, strides: Sequence[int], padding: str,
    explicit_paddings: Sequence[int], data_format: str, dilations: Sequence[int],
) -> Tensor:  # fmt: skip
    """The convolution of image[n, c, ...] with taps[k, c / groups, ...], in the model's order."""
    steps, apart = spatial(strides, data_format), spatial(dilations, data_format)
    wide, sides = padded(
        image, padding, explicit_paddings, data_format, taps.shape[2:], steps, apart
    )
    groups = groups_of(image.shape[1], taps.shape[1])
    found = ops.conv(wide, taps, stride=steps, padding=sides, dilation=apart, groups=groups)
    return restored(found, data_format)


def groups_of(channels: Size, each: Size) -> int:
    """How many groups channels are in."""
    if isinstance(channels, int) and isinstance(each, int):
        return channels // each
    raise NotYet("a convolution of an unknown number of channels")


@tf("Conv2DBackpropInput")
def conv2d_transpose(
    sizes: Tensor, weight: Tensor, y: Tensor, *, strides: Sequence[int], padding: str,
    explicit_paddings: Sequence[int], data_format: str, dilations: Sequence[int],
) -> Tensor:  # fmt: skip
    """The gradient of a convolution for its input of these sizes; weight is [..., out, in]."""
    image = second(y, data_format)
    taps = ops.permute(weight, (weight.ndim - 1, weight.ndim - 2, *range(weight.ndim - 2)))
    steps, apart = spatial(strides, data_format), spatial(dilations, data_format)
    wanted = sizes_of(sizes)
    channels = wanted[-1] if data_format.endswith("C") else wanted[1]
    places = wanted[1:-1] if data_format.endswith("C") else wanted[2:]
    if padding == "SAME":
        before = [same(*each)[0] for each in zip(places, taps.shape[2:], steps, apart, strict=True)]
    elif padding == "EXPLICIT":
        before = [first for first, _ in explicit(explicit_paddings, data_format)]
    else:
        before = [0] * len(places)
    groups = groups_of(channels, taps.shape[1])
    found = ops.conv_transpose(image, taps, stride=steps, dilation=apart, groups=groups)
    cut = [
        (tidy(-first), tidy(place + first - size))
        for first, place, size in zip(before, places, found.shape[2:], strict=True)
    ]
    return restored(ops.pad(found, [(0, 0), (0, 0), *cut]), data_format)


@tf("Conv3DBackpropInputV2")
def conv3d_transpose(
    sizes: Tensor, weight: Tensor, y: Tensor, *, strides: Sequence[int], padding: str,
    data_format: str, dilations: Sequence[int],
) -> Tensor:  # fmt: skip
    """The same with three spatial axes."""
    return conv2d_transpose(
        sizes, weight, y, strides=strides, padding=padding, explicit_paddings=(),
        data_format=data_format, dilations=dilations,
    )  # fmt: skip


@tf("BiasAdd")
def bias_add(x: Tensor, bias: Tensor, *, data_format: str) -> Tensor:
    """x plus a number for each channel."""
    if data_format == "NCHW" and x.ndim > 2:
        bias = ops.reshape(bias, (-1, *(1,) * (x.ndim - 2)))
    return ops.add(x, bias)
