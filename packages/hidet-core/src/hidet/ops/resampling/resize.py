"""Resizing of images and of other tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from hidet.compute.sizes import numbers, same, tidy
from hidet.errors import BadArgument, NotYet
from hidet.graph import Tensor, apply, make_node
from hidet.graph.dims import axis_of
from hidet.ops.resampling.enlarge import Enlarge
from hidet.ops.resampling.interpolation import UNROLLED
from hidet.ops.resampling.resample import Resample
from hidet.ops.resampling.resize_taps import Coordinates, Mode, ResizeTaps, Rounding
from hidet.ops.tensors.cast import cast
from hidet.types import DType, Size, f32, f64

AspectRatio = Literal["stretch", "not_larger", "not_smaller"]


def resize(
    x: Tensor, *, sizes: Sequence[Size] | None = None, scales: Sequence[float] | None = None,
    axes: Sequence[int] | None = None, mode: Mode = "nearest",
    coordinates: Coordinates = "half_pixel", rounding: Rounding = "round_prefer_floor",
    cubic_coefficient: float = -0.75, antialias: bool = False, exclude_outside: bool = False,
    roi: Sequence[float] | None = None, fill: float = 0.0, aspect_ratio: AspectRatio = "stretch",
) -> Tensor:  # fmt: skip
    """`x` with `axes` (None: all) at other `sizes`, or at `scales` times theirs, rounded down.

    - `mode`: the "nearest" element, or a "linear" or "cubic" sum of neighbours.
    - `coordinates`: where new element i lies in the old axis, as ONNX names the ways; `roi` (all
      starts, then all ends, as fractions) is for
      "tf_crop_and_resize", and `fill` what lies outside.
    - `rounding`: which of two elements is nearest. `antialias` widens the sums where the axis
      shrinks. `exclude_outside` gives what lies outside no weight; else the edge continues.
    - `aspect_ratio`: with `sizes`, one scale for all axes: the smallest or the largest.

    The type stays; integers are rounded. Symbolic sizes are taken, with `antialias` only along with
    `scales`. Raises BadArgument for an unknown mode, no sizes, or both. Source: ONNX Resize-19.
    """
    where = [axis_of(each, x.ndim) for each in (range(x.ndim) if axes is None else axes)]
    old = [x.shape[axis] for axis in where]
    crop = coordinates == "tf_crop_and_resize"
    spans = spans_of(roi, len(where)) if crop else [(0.0, 1.0)] * len(where)
    new, factors = targets(old, sizes, scales, spans, aspect_ratio)
    taps = {
        axis: ResizeTaps(
            size, count, factor, mode, coordinates, rounding, cubic_coefficient, antialias,
            exclude_outside, span, f64 if x.dtype is f64 else f32,
        )
        for axis, size, count, factor, span in zip(where, old, new, factors, spans, strict=True)
        if not (same(size, count) and factor in (None, 1.0) and span == (0.0, 1.0))
    }  # fmt: skip
    return resampled(x, taps, fill if crop else None)


def resampled(x: Tensor, taps: dict[int, ResizeTaps], fill: float | None) -> Tensor:
    """`x` with some axes read as the taps say: all at once, or one by one where they are many."""
    count = math.prod(each.taps for each in taps.values())
    steps = [taps] if count <= UNROLLED else [{axis: each} for axis, each in taps.items()]
    of = x.dtype
    for number, step in enumerate(steps):
        wide = of if number == len(steps) - 1 or of is f64 else f32
        if step and all(each.times is not None for each in step.values()):
            x = enlarged(x, step, wide)
            continue
        made = {axis: table(each, x) for axis, each in sorted(step.items())}
        if made:
            x = apply(
                Resample, x, tuple(each[0] for each in made.values()),
                tuple(weight for each in made.values() for weight in each[1:]),
                axes=tuple(made), fill=fill, dtype=wide,
            )  # fmt: skip
    return cast(x, of)


def enlarged(x: Tensor, taps: dict[int, ResizeTaps], dtype: DType) -> Tensor:
    """`x` with some axes enlarged by whole factors."""
    axes = tuple(sorted(taps))
    starts, weights = zip(*(taps[axis].phases for axis in axes), strict=True)
    return apply(Enlarge, x, axes=axes, starts=starts, weights=weights, dtype=dtype)


def table(taps: ResizeTaps, beside: Tensor) -> tuple[Tensor, ...]:
    """The indices, and the weights if there are some: nodes, which are never computed alone."""
    node = make_node(ResizeTaps, device=beside.device, **taps.attributes())
    return node.outputs


def spans_of(roi: Sequence[float] | None, count: int) -> list[tuple[float, float]]:
    """The start and end of each axis."""
    if roi is None or len(roi) != 2 * count:
        raise BadArgument(f"tf_crop_and_resize of {count} axes takes {2 * count} numbers as roi")
    return [(float(roi[n]), float(roi[count + n])) for n in range(count)]


def targets(
    old: Sequence[Size], sizes: Sequence[Size] | None, scales: Sequence[float] | None,
    spans: Sequence[tuple[float, float]], aspect_ratio: AspectRatio,
) -> tuple[list[Size], list[float | None]]:  # fmt: skip
    """The new size of each axis, and its scale where that is not the one of the sizes."""
    given = sizes if sizes is not None else scales
    if given is None or (sizes is not None and scales is not None):
        raise BadArgument("resize takes either sizes or scales")
    if len(given) != len(old):
        raise BadArgument(f"{len(given)} sizes or scales for {len(old)} axes")
    if scales is not None:
        factors = [float(scale) for scale in scales]
        pairs = zip(old, factors, spans, strict=True)
        return [scaled(size, scale * (end - start)) for size, scale, (start, end) in pairs], list(
            factors
        )
    assert sizes is not None
    if aspect_ratio == "stretch":
        return list(sizes), [None] * len(old)
    if aspect_ratio not in ("not_larger", "not_smaller"):
        raise BadArgument(f"there is no aspect ratio policy {aspect_ratio!r}")
    ratios = [n / size for size, n in zip(numbers(old), numbers(sizes), strict=True)]
    scale = min(ratios) if aspect_ratio == "not_larger" else max(ratios)
    return [int(scale * size + 0.5) for size in numbers(old)], [scale] * len(old)


def scaled(size: Size, scale: float) -> Size:
    """A size times a scale, rounded down."""
    if not math.isfinite(scale):
        raise BadArgument(f"a scale of {scale}", help="scales are positive and finite")
    if isinstance(size, int):
        return int(size * scale)
    above, below = scale.as_integer_ratio()
    if max(above, below) >= 2**15:
        raise NotYet(
            f"{scale} times the symbolic size {size}", help="give sizes, or a scale such as 1.5"
        )
    return tidy(size * above // below)
