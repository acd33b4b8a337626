"""Histograms between edges, of numbers and of points, and of integers."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.compute.sizes import product
from hidet.graph import Tensor
from hidet.types import Size, f32, f64, i64
from hidet_torch.converters.table import aten, require, torch

FEW = 1 << 12
"""Numbers up to which a CPU counts them here; PyTorch takes less time for more of them."""


@torch(aten.histogram.bins_tensor)
def histogram(
    x: Tensor, edges: Tensor, *, weight: Tensor | None = None, density: bool = False
) -> tuple[Tensor, Tensor]:
    """How many elements lie between neighbouring edges, the last of which belongs to the piece
    before it; or their weights, or their density."""
    flat = ops.reshape(x, (-1, 1))
    return histogram_of_points(flat, [edges], weight=weight, density=density), edges


@torch(aten.histogram.bin_ct)
def histogram_of_pieces(
    x: Tensor,
    bins: int = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    """The same between edges equally far from each other, by default from the least element to the
    largest."""
    return histogram(x, edges_of(x, bins, range), weight=weight, density=density)


@torch(aten._histogramdd_from_bin_tensors.default)
def histogram_of_points(
    points: Tensor, edges: Sequence[Tensor], *, weight: Tensor | None = None, density: bool = False
) -> Tensor:
    """The same of points, which are the rows: an axis of the result for each of their numbers."""
    flat = ops.reshape(points, (-1, len(edges)))
    counts = [each.shape[0] - 1 for each in edges]
    one = ops.ones_like(ops.select(flat, 1, 0)) if weight is None else ops.reshape(weight, (-1,))
    place: Tensor | None = None
    for axis, (each, count) in enumerate(zip(edges, counts, strict=True)):
        column = ops.select(flat, 1, axis)
        low, high = ops.select(each, 0, 0), ops.select(each, 0, -1)
        piece = ops.subtract(ops.searchsorted(each, column, right=True), 1)
        piece = ops.minimum(piece, ops.size_value(count - 1, device=points.device))
        within = ops.logical_and(ops.greater_equal(column, low), ops.less_equal(column, high))
        piece = ops.where(within, piece, 0)
        one = ops.where(within, one, 0.0, dtype=points.dtype)
        place = piece if place is None else place * ops.size_value(count) + piece
    assert place is not None, "points have numbers"
    none = ops.zeros((product(counts),), points.dtype, device=points.device)
    found = ops.reshape(ops.index_add(none, 0, place, one), counts)
    return by_volume(found, edges) if density else found


@torch(aten._histogramdd_from_bin_cts.default)
def histogram_of_points_in_pieces(
    points: Tensor,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Tensor:
    """The same between edges equally far from each other."""
    edges = edges_of_points(points, bins, range=range)
    return histogram_of_points(points, edges, weight=weight, density=density)


@torch(aten._histogramdd_bin_edges.default)
def edges_of_points(
    points: Tensor,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> list[Tensor]:
    """The edges of so many pieces for each number of points."""
    flat = ops.reshape(points, (-1, len(bins)))
    return [
        edges_of(ops.select(flat, 1, axis), count, None if range is None else range[2 * axis :][:2])
        for axis, count in enumerate(bins)
    ]


def edges_of(x: Tensor, bins: int, range: Sequence[float] | None) -> Tensor:
    """Edges equally far from each other."""
    low, high = limits(x, range)
    place = ops.iota(bins + 1, dtype=x.dtype, device=x.device)
    rising = low + place * ((high - low) / bins)
    return ops.where(ops.equal(place, float(bins)), high, rising, dtype=x.dtype)


def by_volume(found: Tensor, edges: Sequence[Tensor]) -> Tensor:
    """Counts as a density: by their sum, and by the width of their piece along each axis."""
    whole = ops.sum(found)
    for axis, each in enumerate(edges):
        widths = ops.subtract(ops.slice(each, 0, 1), ops.slice(each, 0, 0, -1))
        found = ops.divide(found, ops.reshape(widths, (-1, *[1] * (found.ndim - 1 - axis))))
    return ops.divide(found, whole)


@torch(aten.bincount.default)
def bincount(x: Tensor, weights: Tensor | None = None, minlength: Size = 0) -> Tensor:
    """How often each number from 0 to the largest is there, or the sum of its weights."""
    size = x.shape[0]
    require(isinstance(size, int) and size > 0, "counts of numbers of which there may be none")
    is_few = x.device != "cpu" or (isinstance(size, int) and size <= FEW)
    require(is_few, f"counts of more than {FEW} numbers on a CPU")
    require(isinstance(minlength, int), "a least length that calls tell")
    largest = ops.maximum(ops.add(ops.cast(ops.max(x), i64), 1), minlength)
    # No size is below 0: a call with numbers that nobody counts is refused.
    least = ops.cast(ops.min(x), i64)
    count = ops.size_from(ops.where(ops.less(least, 0), least, largest), "bins")
    of = i64 if weights is None else f32 if weights.dtype is f32 else f64
    one = ops.ones(x.shape, of, device=x.device) if weights is None else ops.cast(weights, of)
    return ops.index_add(ops.zeros((count,), of, device=x.device), 0, ops.cast(x, i64), one)


def limits(x: Tensor, range: Sequence[float] | None) -> tuple[Tensor, Tensor]:
    """The first and the last edge, which are not the same."""
    if range is not None:
        low, high = (ops.full((), float(each), x.dtype, device=x.device) for each in range)
    else:
        low, high = ops.min(x), ops.max(x)
    same = ops.cast(ops.equal(low, high), x.dtype) * 0.5
    return low - same, high + same
