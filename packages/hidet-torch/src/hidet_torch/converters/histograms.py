"""Histograms between edges."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.graph import Tensor
from hidet_torch.converters.table import aten, torch


@torch(aten.histogram.bins_tensor)
def histogram(
    x: Tensor, edges: Tensor, *, weight: Tensor | None = None, density: bool = False
) -> tuple[Tensor, Tensor]:
    """How many elements lie between neighbouring edges, the last of which belongs to the piece
    before it; or their weights, or their density."""
    flat = ops.reshape(x, (-1,))
    last = edges.shape[0] - 1
    low, high = ops.select(edges, 0, 0), ops.select(edges, 0, -1)
    piece = ops.subtract(ops.searchsorted(edges, flat, right=True), 1)
    piece = ops.minimum(piece, ops.size_value(last - 1, device=x.device))
    within = ops.logical_and(ops.greater_equal(flat, low), ops.less_equal(flat, high))
    one = ops.ones_like(flat) if weight is None else ops.reshape(weight, (-1,))
    none = ops.zeros((last,), x.dtype, device=x.device)
    where = ops.where(within, piece, 0)
    found = ops.index_add(none, 0, where, ops.where(within, one, 0.0, dtype=x.dtype))
    if density:
        widths = ops.subtract(ops.slice(edges, 0, 1), ops.slice(edges, 0, 0, -1))
        found = ops.divide(found, ops.multiply(widths, ops.sum(found)))
    return found, edges


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
    low, high = limits(x, range)
    place = ops.iota(bins + 1, dtype=x.dtype, device=x.device)
    rising = low + place * ((high - low) / bins)
    edges = ops.where(ops.equal(place, float(bins)), high, rising, dtype=x.dtype)
    return histogram(x, edges, weight=weight, density=density)


def limits(x: Tensor, range: Sequence[float] | None) -> tuple[Tensor, Tensor]:
    """The first and the last edge, which are not the same."""
    if range is not None:
        low, high = (ops.full((), float(each), x.dtype, device=x.device) for each in range)
    else:
        low, high = ops.min(x), ops.max(x)
    same = ops.cast(ops.equal(low, high), x.dtype) * 0.5
    return low - same, high + same
