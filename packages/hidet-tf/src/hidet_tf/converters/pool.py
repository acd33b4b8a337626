"""Pooling over windows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hidet import ops
from hidet.compute.sizes import product
from hidet.graph import Tensor
from hidet.types import DType, i64
from hidet_tf.converters.reduce import without_nan
from hidet_tf.converters.table import tf
from hidet_tf.converters.windows import padded, restored, second, spatial


@tf("MaxPool")
def max_pool(
    x: Tensor, *, ksize: Sequence[int], strides: Sequence[int], padding: str,
    explicit_paddings: Sequence[int], data_format: str,
) -> Tensor:  # fmt: skip
    """The largest element of each window that is a number."""
    window, steps = spatial(ksize, data_format), spatial(strides, data_format)
    image = without_nan(second(x, data_format), -math.inf)
    fill = -math.inf if x.dtype.is_float else x.dtype.limits[0]
    apart = (1,) * len(window)
    image, sides = padded(
        image, padding, explicit_paddings, data_format, window, steps, apart, fill
    )
    return restored(ops.max_pool(image, window, stride=steps, padding=sides), data_format)


@tf("MaxPool3D")
def max_pool_3d(
    x: Tensor, *, ksize: Sequence[int], strides: Sequence[int], padding: str, data_format: str
) -> Tensor:
    """The same with three spatial axes."""
    return max_pool(
        x, ksize=ksize, strides=strides, padding=padding, explicit_paddings=(),
        data_format=data_format,
    )  # fmt: skip


@tf("AvgPool", "AvgPool3D")
def avg_pool(
    x: Tensor, *, ksize: Sequence[int], strides: Sequence[int], padding: str, data_format: str
) -> Tensor:
    """The mean of each window, of what lies within the image."""
    window, steps = spatial(ksize, data_format), spatial(strides, data_format)
    image, apart = second(x, data_format), (1,) * len(window)
    wide, sides = padded(image, padding, (), data_format, window, steps, apart)
    found = ops.avg_pool(wide, window, stride=steps, padding=sides, count_include_pad=False)
    if wide is not image:  # the padding counted: it depends on the call
        one = ops.ones((1, 1, *image.shape[2:]), x.dtype, device=x.device)
        there, _ = padded(one, padding, (), data_format, window, steps, apart)
        found = ops.divide(found, ops.avg_pool(there, window, stride=steps))
    return restored(found, data_format)


@tf("MaxPoolWithArgmax")
def max_pool_with_argmax(
    x: Tensor, *, ksize: Sequence[int], strides: Sequence[int], padding: str,
    include_batch_in_index: bool, Targmax: DType,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The same of x[n, h, w, c], and where in the flattened image, or in all, each one was."""
    window, steps = spatial(ksize, "NHWC"), spatial(strides, "NHWC")
    image = second(x, "NHWC")
    wide, sides = padded(image, padding, (), "NHWC", window, steps, (1, 1), -math.inf)
    found, place = ops.max_pool_with_indices(wide, window, stride=steps, padding=sides)
    channel = ops.iota(x.shape[3], dtype=i64, device=x.device)
    where = ops.add(ops.multiply(restored(place, "NHWC"), x.shape[3]), channel)
    if include_batch_in_index:
        images = ops.reshape(ops.iota(x.shape[0], device=x.device), (-1, 1, 1, 1))
        where = ops.add(where, ops.multiply(images, product(x.shape[1:])))
    return restored(found, "NHWC"), ops.cast(where, Targmax)
