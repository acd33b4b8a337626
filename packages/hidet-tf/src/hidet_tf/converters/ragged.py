"""Ragged tensors, which are rows of several lengths one after the other, made dense."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.errors import NotYet
from hidet.frontend.importing.operands import integers, size_of
from hidet.graph import Tensor
from hidet.types import Size, i64
from hidet_tf.converters.segments import sizes_of_segments
from hidet_tf.converters.table import tf


@tf("RaggedTensorToTensor")
def ragged_to_tensor(
    shape: Tensor, values: Tensor, default: Tensor, partitions: Sequence[Tensor], *,
    row_partition_types: Sequence[str],
) -> Tensor:  # fmt: skip
    """[rows, columns, ...]: each row with a default behind its end, or cut where it is longer.

    There are as many columns as `shape` says, or as the longest row has, which a call reads.
    """
    starts, lengths = rows_of(partitions, [*row_partition_types])
    wide = columns_of(shape, values, lengths)
    column = ops.iota(wide, device=values.device)
    there = ops.less(column, ops.unsqueeze(lengths, 1))
    place = ops.add(ops.unsqueeze(starts, 1), column)
    behind = ops.size_value(values.shape[0], device=values.device)
    last = ops.expand(default, (1, *values.shape[1:]))  # what stands where a row has ended
    return ops.take(ops.concat([values, last], 0), [ops.where(there, place, behind)])


def rows_of(partitions: Sequence[Tensor], kinds: list[str]) -> tuple[Tensor, Tensor]:
    """Where each row starts, and how long it is."""
    if kinds == ["ROW_SPLITS"]:
        splits = ops.cast(partitions[0], i64)
        starts = ops.slice(splits, 0, 0, -1)
        following = ops.iota(starts.shape[0], start=1, device=splits.device)
        return starts, ops.subtract(ops.take(splits, [following]), starts)
    if kinds == ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]:
        lengths = sizes_of_segments(partitions[1], size_of(partitions[0]), i64)
        return ops.cumsum(lengths, 0, exclusive=True), lengths
    raise NotYet("rows of rows of several lengths")


def columns_of(shape: Tensor, values: Tensor, lengths: Tensor) -> Size:
    """How many columns a shape names; -1 leaves them, and the scalar -1 every axis, to the rows."""
    rows, columns, *inner = integers(shape) if shape.ndim else [-1] * (values.ndim + 1)
    pairs = zip(inner, values.shape[1:], strict=True)
    if rows >= 0 or any(each not in (-1, size) for each, size in pairs):
        raise NotYet("ragged rows in a shape that names more than the number of columns")
    if columns >= 0:
        return columns
    none = ops.zeros((1,), i64, device=values.device)
    return ops.size_from(ops.max(ops.concat([lengths, none], 0), 0))
