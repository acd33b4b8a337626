"""Sparse tensors, positions [count, axes] and values [count], combined into dense ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from hidet import ops
from hidet.compute.sizes import product
from hidet.frontend.importing.operands import integers, sizes_of
from hidet.graph import Tensor
from hidet.types import Size, i64
from hidet_tf.converters.segments import combined
from hidet_tf.converters.table import tf


@tf("SparseTensorDenseMatMul")
def sparse_dense_matmul(
    index: Tensor, values: Tensor, shape: Tensor, b: Tensor, *, adjoint_a: bool, adjoint_b: bool
) -> Tensor:
    """[m, n]: the product of a sparse [m, k] and a dense [k, n]: each value takes a row along."""
    row, column = (1, 0) if adjoint_a else (0, 1)
    dense = ops.permute(b, (1, 0)) if adjoint_b else b
    taken = ops.take(dense, [ops.select(index, 1, column)])
    rows = ops.multiply(taken, ops.unsqueeze(values, 1))
    return combined(rows, ops.select(index, 1, row), sizes_of(shape)[row], "add", 0)


@tf("SparseReduceSum")
def sparse_reduce_sum(
    index: Tensor, values: Tensor, shape: Tensor, axes: Tensor, *, keep_dims: bool
) -> Tensor:
    """The sums of the values along axes; the dense tensor where none is named."""
    sizes = sizes_of(shape)
    gone = {axis % len(sizes) for axis in integers(axes)}
    kept = [axis for axis in range(len(sizes)) if axis not in gone]
    count = product(sizes[axis] for axis in kept)
    sums = combined(values, raveled(index, kept, sizes), count, "add", 0)
    left = [1 if axis in gone else size for axis, size in enumerate(sizes)]
    return ops.reshape(sums, left if keep_dims else [sizes[axis] for axis in kept])


def raveled(index: Tensor, axes: Sequence[int], sizes: Sequence[Size]) -> Tensor:
    """[count]: where each position lies in row-major order, as far as the axes go."""

    def along(places: Tensor, axis: int) -> Tensor:
        size = ops.size_value(sizes[axis], device=index.device)
        return ops.add(ops.multiply(places, size), ops.select(index, 1, axis))

    return reduce(along, axes, ops.zeros(index.shape[:1], i64, device=index.device))
