"""Rows combined by segments: embedding bags, and `segment_reduce`.

Which segment a row belongs to is counted once: each segment is marked where it begins, and a
running sum of the marks numbers the rows. So the work grows with the rows alone.
"""

from __future__ import annotations

from hidet import ops
from hidet.compute.grid import Rule
from hidet.compute.sizes import product, tidy
from hidet.graph import Tensor
from hidet.types import Size, i64
from hidet_torch.converters.ordering import neutral
from hidet_torch.converters.table import NotComputed, aten, require, torch
from hidet_torch.memory.dtypes import wide

MODES = ("sum", "mean", "max")
FEW = 1 << 12
"""Elements of all rows of bags up to which they are added one by one; PyTorch has a library for
more of them."""
RULES: dict[str, Rule] = {"sum": "add", "mean": "add", "max": "max", "min": "min", "prod": "mul"}


@torch(aten._embedding_bag_forward_only.default, aten._embedding_bag.default)
def embedding_bag(
    weight: Tensor,
    where: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor | NotComputed, ...]:
    """Rows of the weight, combined by bags, of which each begins at an offset; an empty bag is 0,
    and rows that pad count for nothing."""
    size = product((where.shape[0], weight.shape[1]))
    require(
        isinstance(size, int) and size <= FEW,
        f"bags of more than {FEW} elements, or of a dynamic number",
    )
    starts = ops.slice(offsets, 0, 0, -1) if include_last_offset else offsets
    bag, bags = segments(starts, where.shape[0]), starts.shape[0]
    rows = ops.cast(ops.embedding(weight, where), wide(weight.dtype))
    if per_sample_weights is not None:
        rows = rows * ops.cast(ops.unsqueeze(per_sample_weights, 1), rows.dtype)
    how = MODES[mode]
    kept = ops.not_equal(where, padding_idx if padding_idx >= 0 else -1)
    base = neutral(rows, RULES[how])
    found = combined(ops.where(ops.unsqueeze(kept, 1), rows, base), bag, bags, how, base)
    count = ops.unsqueeze(combined(ops.cast(kept, i64), bag, bags, "sum", 0), 1)
    if how == "mean":
        found = ops.divide(found, ops.maximum(ops.cast(count, found.dtype), 1.0))
    found = ops.where(ops.equal(count, 0), 0.0, found, dtype=found.dtype)
    more = (NotComputed("the bag of each row, and what backward passes read") for _ in range(3))
    return ops.cast(found, weight.dtype), *more


@torch(aten.segment_reduce.default)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Slices along the first axis combined by segments, of such lengths or from such offsets; rows
    that are in none count for nothing."""
    require(axis == 0 and indices is None, "segments along another axis than the first")
    if offsets is None:
        assert lengths is not None, "PyTorch takes one of both"
        first = ops.zeros((1,), i64, device=lengths.device)
        offsets, count = ops.concat((first, ops.cumsum(ops.cast(lengths, i64), 0)), 0), lengths
    else:
        count = ops.subtract(ops.slice(offsets, 0, 1), ops.slice(offsets, 0, 0, -1))
    rows = ops.cast(data, wide(data.dtype))
    base = neutral(rows, RULES[reduce]) if initial is None else float(initial)
    passed = offsets_passed(offsets, data.shape[0])  # none before the first segment
    found = combined(rows, passed, tidy(offsets.shape[0] + 1), reduce, base)
    found = ops.slice(found, 0, 1, offsets.shape[0])
    if reduce == "mean":
        wide_count = ops.cast(count, rows.dtype)
        if initial is not None:
            wide_count = ops.maximum(wide_count, 1.0)
        found = ops.divide(found, ops.reshape(wide_count, (-1, *[1] * (data.ndim - 1))))
    return ops.cast(found, data.dtype)


def segments(starts: Tensor, rows: Size) -> Tensor:
    """Which segment each of so many rows is in, of segments that begin at ascending places."""
    return ops.maximum(ops.subtract(offsets_passed(starts, rows), 1), 0)


def offsets_passed(starts: Tensor, rows: Size) -> Tensor:
    """How many of ascending places are at each of so many rows or before it."""
    device = starts.device
    ones = ops.ones(starts.shape, i64, device=device)
    places = ops.minimum(ops.cast(starts, i64), ops.size_value(rows, device=device))
    none = ops.zeros((tidy(rows + 1),), i64, device=device)
    marks = ops.index_add(none, 0, ops.maximum(places, 0), ones)
    return ops.cumsum(ops.slice(marks, 0, 0, rows), 0)


def combined(rows: Tensor, segment: Tensor, count: Size, how: str, base: float) -> Tensor:
    """Rows combined by segments, each with a number besides."""
    shape = (-1, *[1] * (rows.ndim - 1))
    start = ops.full((count, *rows.shape[1:]), base, rows.dtype, device=rows.device)
    where = ops.expand(ops.reshape(segment, shape), rows.shape)
    return ops.scatter(start, 0, where, rows, RULES[how])
