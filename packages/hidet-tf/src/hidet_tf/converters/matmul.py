"""Matmuls."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet.types import DType
from hidet_tf.converters.table import tf


@tf("MatMul")
def matmul(a: Tensor, b: Tensor, *, transpose_a: bool, transpose_b: bool) -> Tensor:
    """a @ b, either matrix transposed if so asked."""
    return ops.matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b)


@tf("BatchMatMul", "BatchMatMulV2")
def batch_matmul(a: Tensor, b: Tensor, *, adj_x: bool, adj_y: bool) -> Tensor:
    """Matmuls in the last two axes; leading axes broadcast."""
    return ops.matmul(a, b, transpose_a=adj_x, transpose_b=adj_y)


@tf("BatchMatMulV3")
def batch_matmul_as(a: Tensor, b: Tensor, *, adj_x: bool, adj_y: bool, Tout: DType) -> Tensor:
    """The same in another type, such as int32 for bytes."""
    return ops.matmul(a, b, transpose_a=adj_x, transpose_b=adj_y, dtype=Tout)


@tf("Einsum")
def einsum(tensors: list[Tensor], *, equation: str) -> Tensor:
    """The sum of products that the equation spells."""
    return ops.einsum(equation, *tensors)
