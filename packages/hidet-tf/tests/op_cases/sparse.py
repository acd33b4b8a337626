"""Sparse tensors combined into dense ones, and ragged ones made dense."""

import numpy as np
import tensorflow as tf

from op_cases.case import case, floats

raw = tf.raw_ops
PLACES = np.int64([[0, 1], [0, 6], [3, 0], [4, 6], [4, 1]])
CUBE = np.int64([[0, 1, 1], [0, 1, 2], [1, 0, 0], [1, 2, 1], [1, 2, 1]])


def product(index, values, dense, **how):
    flags = {"adjoint_a": False, "adjoint_b": False, **how}
    return raw.SparseTensorDenseMatMul(
        a_indices=index, a_values=values, a_shape=[5, 7], b=dense, **flags
    )


def total(index, values, axes, keep_dims=False):
    return raw.SparseReduceSum(
        input_indices=index, input_values=values, input_shape=[2, 3, 3], reduction_axes=axes,
        keep_dims=keep_dims,
    )  # fmt: skip


def dense(kinds, shape, values, *partitions, default=0.5):
    return raw.RaggedTensorToTensor(
        shape=shape, values=values, default_value=tf.cast(default, values.dtype),
        row_partition_tensors=list(partitions), row_partition_types=kinds,
    )  # fmt: skip


def split(shape, values, splits):
    return dense(["ROW_SPLITS"], shape, values, splits)


def numbered(shape, values, rows, numbers):
    return dense(["FIRST_DIM_SIZE", "VALUE_ROWIDS"], shape, values, rows, numbers)


SPLITS, NUMBERS = np.int64([0, 2, 2, 5, 6]), np.int64([0, 0, 2, 2, 2, 3])
CASES = [
    case("SparseTensorDenseMatMul", product, PLACES, floats(5), floats(7, 3), is_open=False),
    case("SparseTensorDenseMatMul-adjoint-a", lambda i, v, b: product(i, v, b, adjoint_a=True),
         PLACES, floats(5), floats(5, 3), is_open=False),
    case("SparseTensorDenseMatMul-adjoint-b", lambda i, v, b: product(i, v, b, adjoint_b=True),
         PLACES, floats(5), floats(3, 7), is_open=False),
    case("SparseTensorDenseMatMul-empty", product, PLACES[:0], floats(0), floats(7, 3),
         is_open=False),
    *(case(f"SparseReduceSum-{axes}", lambda i, v, axes=axes: total(i, v, axes), CUBE, floats(5),
           is_open=False) for axes in ([0], [1, -1], [2, 0], [0, 1, 2])),
    case("SparseReduceSum-none", lambda i, v: total(i, v, np.int32([])), CUBE, floats(5),
         is_open=False),
    case("SparseReduceSum-kept", lambda i, v: total(i, v, [1], True), CUBE, floats(5),
         is_open=False),
    case("RaggedTensorToTensor", lambda x, s: split(-1, x, s), floats(6), SPLITS, is_open=False),
    case("RaggedTensorToTensor-inner", lambda x, s: split(-1, x, s), floats(6, 3), SPLITS,
         is_open=False),
    case("RaggedTensorToTensor-cut", lambda x, s: split([-1, 2], x, s), floats(6),
         np.int32(SPLITS), is_open=False),
    case("RaggedTensorToTensor-wide", lambda x, s: split([-1, 7], x, s), floats(6), SPLITS,
         is_open=False),
    case("RaggedTensorToTensor-numbers", lambda x, n: numbered(-1, x, np.int64(5), n), floats(6),
         NUMBERS, is_open=False),
    case("RaggedTensorToTensor-no-rows", lambda x, s: split(-1, x, s), floats(0), SPLITS[:1],
         is_open=False),
]  # fmt: skip
