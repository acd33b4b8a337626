"""Matmuls and their bias."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet_tf.converters.table import tf


@tf("MatMul")
def matmul(a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """a @ b, either of them transposed."""
    left = ops.permute(a, (1, 0)) if transpose_a else a
    right = ops.permute(b, (1, 0)) if transpose_b else b
    return ops.matmul(left, right)


@tf("BiasAdd")
def bias_add(x: Tensor, bias: Tensor, *, data_format: str = "NHWC") -> Tensor:
    """x with a number added for each channel."""
    if data_format.startswith("NC"):
        bias = ops.reshape(bias, (-1, *(1,) * (x.ndim - 2)))
    return ops.add(x, bias)
