"""Images: colours, contrast, patches."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.compute.sizes import tidy
from hidet.graph import Tensor
from hidet.types import f32
from hidet_tf.converters.table import tf
from hidet_tf.converters.windows import padded, restored, second


@tf("RGBToHSV")
def rgb_to_hsv(x: Tensor) -> Tensor:
    """Red, green and blue as hue, saturation and value."""
    red, green, blue = channels(x)
    value = ops.max(x, -1)
    spread = ops.subtract(value, ops.min(x, -1))
    saturation = ops.where(
        ops.greater(value, 0.0), ops.divide(spread, value), ops.zeros_like(value)
    )
    scale = ops.divide(1.0, ops.multiply(spread, 6.0))
    from_red = ops.multiply(scale, ops.subtract(green, blue))
    from_green = ops.add(ops.multiply(scale, ops.subtract(blue, red)), 2 / 6)
    from_blue = ops.add(ops.multiply(scale, ops.subtract(red, green)), 4 / 6)
    rest = ops.where(ops.equal(green, value), from_green, from_blue)
    hue = ops.where(ops.equal(red, value), from_red, rest)
    hue = ops.where(ops.greater(spread, 0.0), hue, ops.zeros_like(hue))
    hue = ops.where(ops.less(hue, 0.0), ops.add(hue, 1.0), hue)
    return ops.stack([hue, saturation, value], -1)


@tf("HSVToRGB")
def hsv_to_rgb(x: Tensor) -> Tensor:
    """Hue, saturation and value as red, green and blue."""
    hue, saturation, value = channels(x)
    sixths = ops.multiply(hue, 6.0)

    def distance(to: float) -> Tensor:
        return ops.absolute(ops.subtract(sixths, to))

    parts = (
        ops.subtract(distance(3.0), 1.0),
        ops.subtract(2.0, distance(2.0)),
        ops.subtract(2.0, distance(4.0)),
    )
    grey = ops.subtract(1.0, saturation)
    return ops.stack(
        [
            ops.multiply(ops.add(grey, ops.multiply(saturation, ops.clamp(e, 0.0, 1.0))), value)
            for e in parts
        ],
        -1,
    )


def channels(x: Tensor) -> tuple[Tensor, ...]:
    """The three channels of an image, which are its last axis."""
    return tuple(ops.select(x, -1, place) for place in range(3))


@tf("AdjustContrastv2")
def adjust_contrast(x: Tensor, factor: Tensor) -> Tensor:
    """Each element's distance to the mean of its channel, times a factor."""
    wide = ops.cast(x, f32)
    mean = ops.mean(wide, (-3, -2), keepdims=True)
    return ops.cast(ops.add(ops.multiply(ops.subtract(wide, mean), factor), mean), x.dtype)


@tf("AdjustSaturation")
def adjust_saturation(x: Tensor, scale: Tensor) -> Tensor:
    """The saturation of colours, times a factor."""
    hue, saturation, value = channels(rgb_to_hsv(ops.cast(x, f32)))
    more = ops.clamp(ops.multiply(saturation, scale), 0.0, 1.0)
    return ops.cast(hsv_to_rgb(ops.stack([hue, more, value], -1)), x.dtype)


@tf("AdjustHue")
def adjust_hue(x: Tensor, delta: Tensor) -> Tensor:
    """The hue of colours, moved on by a part of the circle."""
    hue, saturation, value = channels(rgb_to_hsv(ops.cast(x, f32)))
    moved = ops.add(hue, delta)
    turned = ops.subtract(moved, ops.floor(moved))
    return ops.cast(hsv_to_rgb(ops.stack([turned, saturation, value], -1)), x.dtype)


@tf("ExtractImagePatches")
def extract_patches(
    x: Tensor, *, ksizes: Sequence[int], strides: Sequence[int], rates: Sequence[int], padding: str
) -> Tensor:
    """The elements of each window of x[n, h, w, c] as channels."""
    window, steps, apart = (each[1:3] for each in (ksizes, strides, rates))
    image = second(x, "NHWC")
    wide, sides = padded(image, padding, (), "NHWC", tuple(window), steps, apart)
    wide = restored(ops.pad(wide, [(0, 0), (0, 0), *sides]), "NHWC")
    spans = [
        (size - (width - 1) * rate - 1) // step + 1
        for size, width, step, rate in zip(wide.shape[1:3], window, steps, apart, strict=True)
    ]
    parts = []
    for row in range(window[0]):
        for column in range(window[1]):
            part = wide
            for axis, place in ((0, row), (1, column)):
                start, reach = place * apart[axis], (spans[axis] - 1) * steps[axis] + 1
                part = ops.slice(part, axis + 1, start, tidy(start + reach), steps[axis])
            parts.append(part)
    return ops.concat(parts, 3)
