"""Slices, with bounds that the model fixes or computes."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.frontend.importing.operands import elements, integers
from hidet.frontend.importing.slices import slice_between
from hidet.graph import Tensor
from hidet.types import Size
from hidet_onnx.converters.table import onnx

FAR = 2**31 - 1
"""Bounds of slices from here on mean the end of the axis."""


@onnx("Slice", since=10)
def slice_axes(
    x: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None = None,
    steps: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """x[start:end:step] along axes, by Python's rules."""
    first, last = elements(starts), elements(ends)
    along = tuple(range(len(first))) if axes is None else integers(axes)
    apart = (1,) * len(first) if steps is None else integers(steps)
    return sliced(x, first, last, along, apart)


@onnx("Slice", since=1)
def slice_before_10(
    x: Tensor, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None = None
) -> Tensor:
    """The same with bounds that the model fixes."""
    along = tuple(range(len(starts))) if axes is None else axes
    return sliced(x, starts, ends, along, (1,) * len(starts))


def sliced(
    x: Tensor, starts: Sequence[Size | Tensor], ends: Sequence[Size | Tensor],
    axes: Sequence[int], steps: Sequence[int],
) -> Tensor:  # fmt: skip
    """x[start:end:step] along each of the axes."""
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        x = slice_between(x, axis, bound(start), bound(end), step)
    return x


def bound(given: Size | Tensor) -> Size | Tensor | None:
    """A bound of a slice; None for one beyond any axis, which ONNX's exporters write as a huge
    number."""
    return None if isinstance(given, int) and not -FAR < given < FAR else given
