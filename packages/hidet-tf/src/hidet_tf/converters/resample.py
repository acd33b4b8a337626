"""Images [n, h, w, c] at other sizes."""

from __future__ import annotations

from typing import Any

from hidet import ops
from hidet.compute.sizes import tidy
from hidet.errors import NotYet
from hidet.frontend.importing.operands import constant, integers, sizes_of, values
from hidet.graph import Tensor
from hidet.ops.resampling.resize_taps import Coordinates
from hidet.types import f32
from hidet_tf.converters.resize_weights import (
    Array,
    area_weights,
    cubic_weights,
    kernel_weights,
)
from hidet_tf.converters.table import tf


def coordinates(align_corners: bool, half_pixel_centers: bool) -> Coordinates:
    """Where a resized axis reads."""
    return (
        "align_corners" if align_corners else "half_pixel" if half_pixel_centers else "asymmetric"
    )


@tf("ResizeBilinear")
def resize_bilinear(
    x: Tensor, size: Tensor, *, align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    """Between two elements of each axis, in float32."""
    return ops.resize(
        ops.cast(x, f32), sizes=sizes_of(size), axes=(1, 2), mode="linear",
        coordinates=coordinates(align_corners, half_pixel_centers),
    )  # fmt: skip


@tf("ResizeNearestNeighbor")
def resize_nearest(
    x: Tensor, size: Tensor, *, align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    """The element that is nearest, or that begins before."""
    rounds = align_corners or half_pixel_centers
    return ops.resize(
        x, sizes=sizes_of(size), axes=(1, 2), mode="nearest",
        coordinates=coordinates(align_corners, half_pixel_centers),
        rounding="round_prefer_ceil" if rounds else "floor",
    )  # fmt: skip


@tf("ResizeBicubic")
def resize_bicubic(
    x: Tensor, size: Tensor, *, align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    """Among four elements of each axis, in float32."""
    how = (align_corners, half_pixel_centers)
    return weighted(x, *(cubic_weights(*each, *how) for each in both(x, size)))


@tf("ResizeArea")
def resize_area(x: Tensor, size: Tensor, *, align_corners: bool) -> Tensor:
    """The mean of the area that each element covers, in float32."""
    return weighted(x, *(area_weights(*each, align_corners) for each in both(x, size)))


@tf("ScaleAndTranslate")
def scale_and_translate(
    x: Tensor, size: Tensor, scale: Tensor, translation: Tensor, *, kernel_type: str,
    antialias: bool,
) -> Tensor:  # fmt: skip
    """By a kernel around each place, in float32."""
    moves = zip(values(scale), values(translation), strict=True)
    return weighted(x, *(
        kernel_weights(*sizes, *move, kernel_type, antialias)
        for sizes, move in zip(both(x, size), moves, strict=True)
    ))  # fmt: skip


def both(x: Tensor, size: Tensor) -> list[tuple[int, int]]:
    """The size of either axis, and the one wanted; NotYet unless all are known."""
    found = []
    for own, wanted in zip(x.shape[1:3], integers(size), strict=True):
        if not isinstance(own, int):
            raise NotYet("a resize of a size that only a call tells", help="fix the image's size")
        found.append((own, wanted))
    return found


def weighted(x: Tensor, rows: Array, columns: Array) -> Tensor:
    """Sums of an image's rows, and of its columns, by these weights."""
    images, height, width, channels = x.shape
    flat = ops.reshape(ops.cast(x, f32), (images, height, tidy(width * channels)))
    tall = ops.matmul(constant(rows, f32, x.device), flat)
    split = ops.reshape(tall, (images, len(rows), width, channels))
    return ops.matmul(constant(columns, f32, x.device), split)


@tf("CropAndResize")
def crop_and_resize(
    images: Tensor, boxes: Tensor, number: Tensor, size: Tensor, *, method: str,
    extrapolation_value: float,
) -> Tensor:  # fmt: skip
    """Parts of images between two corners, which are fractions, at one size, in float32."""
    counts = integers(size)
    ends = ops.cast(boxes, f32)
    rows, columns = (
        places(ops.select(ends, 1, axis), ops.select(ends, 1, axis + 2), images.shape[axis + 1],
               counts[axis]) for axis in range(2)
    )  # fmt: skip
    rows, columns = ops.unsqueeze(rows, 2), ops.unsqueeze(columns, 1)
    image = ops.reshape(number, (-1, 1, 1))
    if method == "nearest":
        found = read(images, image, *(ops.floor(ops.add(each, 0.5)) for each in (rows, columns)))
    else:
        found = between(images, image, rows, columns)
    inside = ops.logical_and(within(rows, images.shape[1]), within(columns, images.shape[2]))
    return ops.where(ops.unsqueeze(inside, -1), found, extrapolation_value, dtype=f32)


def places(start: Tensor, end: Tensor, size: Any, count: int) -> Tensor:
    """[boxes, count]: where boxes read an axis."""
    most = ops.cast(ops.size_value(tidy(size - 1), device=start.device), f32)
    first, last = ops.unsqueeze(start, 1), ops.unsqueeze(end, 1)
    if count == 1:
        return ops.multiply(ops.multiply(ops.add(first, last), 0.5), most)
    step = ops.divide(ops.multiply(ops.subtract(last, first), most), float(count - 1))
    steps = ops.iota(count, dtype=f32, device=start.device)
    return ops.add(ops.multiply(first, most), ops.multiply(steps, step))


def within(place: Tensor, size: Any) -> Tensor:
    """Whether places are on an axis."""
    last = ops.cast(ops.size_value(tidy(size - 1), device=place.device), f32)
    return ops.logical_and(ops.greater_equal(place, 0.0), ops.less_equal(place, last))


def read(images: Tensor, number: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """The elements at whole places, the nearest ones for those outside."""
    index = [
        ops.cast(ops.minimum(ops.maximum(place, 0.0), ops.cast(
            ops.size_value(tidy(size - 1), device=images.device), f32)), "int32")
        for place, size in ((row, images.shape[1]), (column, images.shape[2]))
    ]  # fmt: skip
    return ops.cast(ops.take(images, [number, *index]), f32)


def between(images: Tensor, number: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """The elements between whole places, of two rows and two columns."""
    top, left = ops.floor(row), ops.floor(column)
    down, right = (ops.unsqueeze(ops.subtract(a, b), -1) for a, b in ((row, top), (column, left)))

    def mixed(row: Tensor) -> Tensor:
        one, other = (read(images, number, row, each(column)) for each in (ops.floor, ops.ceil))
        return ops.add(one, ops.multiply(ops.subtract(other, one), right))

    above, below = mixed(top), mixed(ops.ceil(row))
    return ops.add(above, ops.multiply(ops.subtract(below, above), down))
