"""Images at other sizes."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.graph import Tensor
from hidet.ops.resampling.resize import scaled
from hidet.types import Size, f32, i64
from hidet_torch.converters.table import aten, torch

AXES = (2, 3)
"""The axes of an image that get other sizes."""
EXACT = range(1, 9)
"""Factors of whose inverse float32 has the number or a larger one: PyTorch multiplies by it, and
so never takes the element before the one meant."""


@torch(aten.upsample_nearest2d.vec)
def nearest(
    x: Tensor, size: Sequence[Size] | None, factors: Sequence[float] | None = None
) -> Tensor:
    """The element at or before each place."""
    if factors is not None and all(each in EXACT for each in factors):
        return ops.resize(x, scales=factors, axes=AXES, coordinates="asymmetric", rounding="floor")
    rows, columns = (
        places(
            x.shape[axis],
            None if size is None else size[n],
            None if factors is None else factors[n],
            x.device,
        )
        for n, axis in enumerate(AXES)
    )
    return ops.take(x, [None, None, ops.unsqueeze(rows, 1), columns])


def places(old: Size, new: Size | None, factor: float | None, device: str) -> Tensor:
    """The positions of elements, computed in float32 as PyTorch does."""
    if factor is not None:
        new, step = scaled(old, factor), ops.full((), 1.0 / factor, f32, device=device)
    else:
        assert new is not None
        sizes = [ops.size_value(each, f32, device=device) for each in (old, new)]
        step = ops.divide(*sizes)
    return ops.cast(ops.multiply(ops.iota(new, dtype=f32, device=device), step), i64)


@torch(aten.upsample_bilinear2d.vec)
def bilinear(
    x: Tensor,
    size: Sequence[Size] | None,
    align_corners: bool,
    factors: Sequence[float] | None = None,
) -> Tensor:
    """Sums of the four elements around each place; corners are on each other by whole sizes."""
    if align_corners and factors is not None:
        size = [scaled(x.shape[axis], each) for axis, each in zip(AXES, factors, strict=True)]
        factors = None
    return ops.resize(
        x,
        sizes=size if factors is None else None,
        scales=factors,
        axes=AXES,
        mode="linear",
        coordinates="align_corners" if align_corners else "half_pixel",
    )


@torch(aten._upsample_bilinear2d_aa.default)
def smooth(
    x: Tensor,
    size: Sequence[Size],
    align_corners: bool,
    rows: float | None = None,
    columns: float | None = None,
) -> Tensor:
    """Sums over as much of the old image as a new element covers."""
    factors = None if rows is None or columns is None else (rows, columns)
    return ops.resize(
        x,
        sizes=size if factors is None else None,
        scales=factors,
        axes=AXES,
        mode="linear",
        coordinates="align_corners" if align_corners else "half_pixel",
        antialias=True,
        exclude_outside=True,
    )


WAYS = ("linear", "nearest", "cubic"), ("zeros", "border", "reflection")
"""PyTorch's numbers for how images are read, and what lies outside."""


@torch(aten.grid_sampler_2d.default, aten.grid_sampler_3d.default)
def grid_sampler(x: Tensor, grid: Tensor, way: int, outside: int, align_corners: bool) -> Tensor:
    """An image, or a volume, read at places."""
    mode, padding = WAYS[0][way], WAYS[1][outside]
    return ops.grid_sample(x, grid, mode=mode, padding=padding, align_corners=align_corners)  # type: ignore[arg-type]
