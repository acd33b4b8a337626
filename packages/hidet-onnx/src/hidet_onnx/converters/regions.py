"""Regions of images, and convolutions whose windows move; determinants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hidet import ops
from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet_onnx.converters.conv import require_kernel
from hidet_onnx.converters.table import onnx
from hidet_onnx.converters.windows import each, explicit

onnx.rows({"Det": ops.det}, since=11)


@onnx("RoiAlign", since=16)
def roi_align(
    x: Tensor, rois: Tensor, batch: Tensor, *,
    coordinate_transformation_mode: str = "half_pixel", mode: str = "avg",
    output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Tensor:  # fmt: skip
    """Each region of an image, read at places between its elements."""
    if coordinate_transformation_mode not in ("half_pixel", "output_half_pixel"):
        raise BadArgument(f"there are no coordinates {coordinate_transformation_mode!r}")
    how: Literal["avg", "max"] = "max" if mode == "max" else "avg"
    if mode != how:
        raise BadArgument(f"RoiAlign has no mode {mode!r}", help="use avg or max")
    return ops.roi_align(
        x, rois, batch, (output_height, output_width), scale=spatial_scale,
        samples=sampling_ratio, half_pixel=coordinate_transformation_mode == "half_pixel",
        mode=how,
    )  # fmt: skip


@onnx("RoiAlign", since=10)
def roi_align_before_16(
    x: Tensor, rois: Tensor, batch: Tensor, *, mode: str = "avg", output_height: int = 1,
    output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0,
) -> Tensor:  # fmt: skip
    """The same with regions that are not moved by half an element."""
    return roi_align(
        x, rois, batch, coordinate_transformation_mode="output_half_pixel", mode=mode,
        output_height=output_height, output_width=output_width, sampling_ratio=sampling_ratio,
        spatial_scale=spatial_scale,
    )  # fmt: skip


@onnx("DeformConv", since=19)
def deform_conv(
    x: Tensor, weight: Tensor, offset: Tensor, bias: Tensor | None = None,
    mask: Tensor | None = None, *,
    dilations: Sequence[int] | None = None, group: int = 1,
    kernel_shape: Sequence[int] | None = None, offset_group: int = 1,
    pads: Sequence[int] | None = None, strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """A convolution whose windows' elements are each moved by an offset."""
    rank = x.ndim - 2
    require_kernel(weight, kernel_shape)
    return ops.deform_conv(
        x, weight, offset, bias, mask, stride=each(strides, rank),
        padding=explicit(pads, rank), dilation=each(dilations, rank), groups=group,
    )  # fmt: skip
