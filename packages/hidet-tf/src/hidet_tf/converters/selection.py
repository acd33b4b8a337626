"""What conditions select, as much as a call finds where they pick elements."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet.types import DType
from hidet_tf.converters.table import tf

tf.rows({"SelectV2": ops.where, "Where": ops.nonzero})


@tf("Select")
def select(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """x where a condition holds, else y; a condition of one axis picks among the first axis."""
    if condition.ndim == 1 and x.ndim > 1:
        condition = ops.reshape(condition, (-1, *(1,) * (x.ndim - 1)))
    return ops.where(condition, x, y)


@tf("Unique")
def unique(x: Tensor, *, out_idx: DType) -> tuple[Tensor, Tensor]:
    """The elements once each in the order in which they come, and which one each is."""
    found = ops.unique(x, ordered=False)
    return found.values, ops.cast(found.inverse, out_idx)


@tf("UniqueWithCounts")
def unique_with_counts(x: Tensor, *, out_idx: DType) -> tuple[Tensor, Tensor, Tensor]:
    """The same, and how many there are of each."""
    found = ops.unique(x, ordered=False)
    return found.values, ops.cast(found.inverse, out_idx), ops.cast(found.counts, out_idx)


@tf("DynamicPartition")
def dynamic_partition(x: Tensor, parts: Tensor, *, num_partitions: int) -> tuple[Tensor, ...]:
    """The slices of x by the number of the part that each belongs to."""
    rows = ops.reshape(x, (-1, *x.shape[parts.ndim :]))
    numbers = ops.reshape(parts, (-1,))
    return tuple(ops.compress(rows, ops.equal(numbers, n), 0) for n in range(num_partitions))
