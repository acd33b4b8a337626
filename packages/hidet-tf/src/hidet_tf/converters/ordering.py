"""Elements in order of size, and where numbers belong among others."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.frontend.importing.operands import constant, size_of
from hidet.graph import Tensor
from hidet.types import DType, f32, i32
from hidet_tf.converters.table import tf


@tf("TopKV2")
def top_k(x: Tensor, count: Tensor, *, index_type: DType) -> tuple[Tensor, Tensor]:
    """The largest elements of the last axis in order, and where they are, the first of equals.

    TensorFlow promises no order of NaN, and has none.
    """
    values, place = ops.topk(x, size_of(count, x.shape[-1]))
    return values, ops.cast(place, index_type)


@tf("LowerBound")
def lower_bound(ordered: Tensor, values: Tensor, *, out_type: DType) -> Tensor:
    """Before which element of its ascending row each value belongs, ahead of equals."""
    return ops.cast(ops.searchsorted(ordered, values), out_type)


@tf("UpperBound")
def upper_bound(ordered: Tensor, values: Tensor, *, out_type: DType) -> Tensor:
    """The same, behind equals."""
    return ops.cast(ops.searchsorted(ordered, values, right=True), out_type)


@tf("Bucketize")
def bucketize(x: Tensor, *, boundaries: Sequence[float]) -> Tensor:
    """How many of the ascending boundaries are not above each element."""
    ends = constant(boundaries, f32, x.device)
    return ops.cast(ops.searchsorted(ends, ops.cast(x, f32), right=True), i32)


@tf("InTopKV2")
def in_top_k(scores: Tensor, classes: Tensor, count: Tensor) -> Tensor:
    """Whether fewer than `count` classes have a higher score than the one of each row."""
    index = ops.unsqueeze(classes, -1)
    own = ops.gather(scores, 1, index)
    above = ops.sum(ops.cast(ops.greater(scores, own), i32), 1)
    sound = ops.logical_and(ops.isfinite(ops.squeeze(own, 1)), ops.all(ops.isfinite(scores), 1))
    return ops.logical_and(sound, ops.less(above, ops.cast(count, above.dtype)))
