"""Masks of attention in the forms of `com.microsoft`: lengths, ranges, or which keys count."""

from __future__ import annotations

from hidet import ops
from hidet.compute.sizes import same, tidy
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.types import DType, Size, boolean, i64
from hidet_onnx.converters.attention import added


def kept_keys(mask: Tensor, batch: Size, queries: Size, keys: Size, past: Size | Tensor) -> Tensor:
    """Which keys a query may see: bools that broadcast to [batch, heads, queries, keys].

    `mask` is one of these, of integers:
    - [batch]: how many keys each sample has,
    - [2 * batch]: the end of each sample's keys, then their starts,
    - [3 * batch + 2]: how many keys each sample has, then offsets that follow from them,
    - [batch, keys], [batch, queries, keys]: keys count where it is above zero,
    - [batch, 1, rows, rows], of at least as many rows as there are keys: that of all positions.
    """
    if mask.ndim == 1:
        return in_range(mask, batch, keys)
    kept = mask if mask.dtype is boolean else ops.greater(mask, 0)
    if mask.ndim == 2:
        return ops.reshape(kept, (mask.shape[0], 1, 1, mask.shape[1]))
    if mask.ndim == 3:
        return ops.unsqueeze(kept, 1)
    if isinstance(past, Tensor):
        raise NotYet("a mask of all positions with a shared cache")
    return ops.slice(ops.slice(kept, 2, past, tidy(past + queries)), 3, 0, keys)


def in_range(mask: Tensor, batch: Size, keys: Size) -> Tensor:
    """Which keys lie before the ends, and not before the starts, that a vector says."""
    column = ops.iota(keys, dtype=i64, device=mask.device)
    count = mask.shape[0]
    has_starts = same(count, tidy(2 * batch)) and not same(count, batch)
    has_offsets = same(count, tidy(3 * batch + 2))
    ends = ops.slice(mask, 0, 0, batch) if has_starts or has_offsets else mask
    kept = ops.less(column, by_sample(ends))
    if not has_starts:
        return kept
    starts = by_sample(ops.slice(mask, 0, batch, tidy(2 * batch)))
    return ops.logical_and(kept, ops.greater_equal(column, starts))


def by_sample(of: Tensor) -> Tensor:
    """A number for each sample as [batch, 1, 1, 1]."""
    return ops.reshape(ops.cast(of, i64), (-1, 1, 1, 1))


def with_padding(
    bias: Tensor | None, kept: Tensor | None, value: float, dtype: DType
) -> Tensor | None:
    """What is added to scores: a bias, and `value` where a key does not count."""
    if kept is None:
        return bias
    padding = added(kept, value, dtype if bias is None else bias.dtype)
    return padding if bias is None else ops.add(bias, padding)
