"""Planes at other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from hidet import ops
from hidet.errors import BadArgument, LimitExceeded
from hidet.frontend.importing.operands import sizes_of, values
from hidet.graph import Tensor
from hidet.ops.resampling.grid_sample import Padding
from hidet.ops.resampling.resize import AspectRatio
from hidet.ops.resampling.resize_taps import Coordinates, Mode, Rounding
from hidet_onnx.converters.table import onnx


@onnx("Resize", since=11)
def resize(
    x: Tensor, roi: Tensor | None = None, scales: Tensor | None = None,
    sizes: Tensor | None = None, *,
    antialias: int = 0, axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel", cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0, extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Tensor:  # fmt: skip
    """x at other sizes, or at scales of its own."""
    wanted = None if sizes is None or sizes.size == 0 else sizes_of(sizes)
    times = None if scales is None or scales.size == 0 else scales_of(scales)
    if (wanted is None) == (times is None):
        raise BadArgument("Resize takes either scales or sizes")
    is_cropped = coordinate_transformation_mode == "tf_crop_and_resize"
    part = values(roi) if is_cropped and roi is not None else None
    return ops.resize(
        x, sizes=wanted, scales=times, axes=axes, mode=one_of(Mode, mode),
        coordinates=one_of(Coordinates, coordinate_transformation_mode),
        rounding=one_of(Rounding, nearest_mode), cubic_coefficient=cubic_coeff_a,
        antialias=bool(antialias), exclude_outside=bool(exclude_outside), roi=part,
        fill=extrapolation_value, aspect_ratio=one_of(AspectRatio, keep_aspect_ratio_policy),
    )  # fmt: skip


@onnx("Resize", since=10)
def resize_before_11(x: Tensor, scales: Tensor, *, mode: str = "nearest") -> Tensor:
    """x at scales of its own sizes, elements taken where they begin."""
    return scaled(x, scales_of(scales), mode)


@onnx("Upsample", since=9)
def upsample(x: Tensor, scales: Tensor, *, mode: str = "nearest") -> Tensor:
    """x enlarged."""
    return scaled(x, scales_of(scales), mode)


@onnx("Upsample", since=7)
def upsample_before_9(x: Tensor, *, scales: Sequence[float], mode: str = "nearest") -> Tensor:
    """x enlarged by scales that the model fixes."""
    return scaled(x, scales, mode)


@onnx("Upsample", since=1)
def upsample_before_7(
    x: Tensor, *, height_scale: float, width_scale: float, mode: str = "nearest"
) -> Tensor:
    """The planes of x[n, c, h, w] enlarged."""
    return scaled(x, (1.0, 1.0, height_scale, width_scale), mode)


@onnx("GridSample", since=16)
def grid_sample(
    x: Tensor, grid: Tensor, *, align_corners: int = 0, mode: str = "bilinear",
    padding_mode: str = "zeros",
) -> Tensor:  # fmt: skip
    """Images read at places between -1 and 1."""
    wanted = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return ops.grid_sample(
        x, grid, mode=one_of(Mode, wanted), padding=one_of(Padding, padding_mode),
        align_corners=bool(align_corners),
    )  # fmt: skip


@onnx("GridSample", since=20)
def grid_sample_since_20(
    x: Tensor, grid: Tensor, *, align_corners: int = 0, mode: str = "linear",
    padding_mode: str = "zeros",
) -> Tensor:  # fmt: skip
    """The same; modes have names that fit any rank."""
    return grid_sample(x, grid, align_corners=align_corners, mode=mode, padding_mode=padding_mode)


@onnx("AffineGrid", since=20)
def affine_grid(theta: Tensor, size: Tensor, *, align_corners: int = 0) -> Tensor:
    """The places for GridSample to which affine maps bring a grid of this size [n, c, ...]."""
    return ops.affine_grid(theta, sizes_of(size)[2:], align_corners=bool(align_corners))


def scales_of(scales: Tensor) -> tuple[Any, ...]:
    """The scales; LimitExceeded if one is so large that a call may ask for any amount of memory."""
    found = tuple(values(scales))
    most = max((each for each in found if each == each), default=1)
    if most > LARGEST:
        raise LimitExceeded(f"a scale of {most:g}; at most {LARGEST} is accepted")
    return found


LARGEST = 2**16


def scaled(x: Tensor, scales: Sequence[float], mode: str) -> Tensor:
    """x at scales of its own sizes, by the rules before version 11."""
    wanted = "linear" if mode in ("linear", "bilinear") else mode
    return ops.resize(
        x, scales=scales, mode=one_of(Mode, wanted), coordinates="asymmetric", rounding="floor"
    )


def one_of(choices: Any, given: str) -> Any:
    """A name, if it is one of the choices."""
    names = get_args(choices)
    if given not in names:
        raise BadArgument(f"there is no {given!r} here", help=f"use {', '.join(names)}")
    return given
