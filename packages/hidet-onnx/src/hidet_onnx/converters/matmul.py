"""Matmuls."""

from __future__ import annotations

from hidet import ops
from hidet.compute.sizes import same_shape
from hidet.graph import Tensor
from hidet_onnx.converters.table import onnx

onnx.rows({"MatMul": ops.matmul}, since=1)


@onnx("Gemm", since=7)
def gemm(
    a: Tensor, b: Tensor, c: Tensor | None = None, *,
    alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0,
) -> Tensor:  # fmt: skip
    """alpha * a @ b + beta * c, either matrix transposed if so asked; a dense layer as such."""
    if transB and not transA and alpha == 1 and is_bias(c, b, beta):
        return ops.linear(a, b, c)
    found = ops.matmul(a, b, transpose_a=bool(transA), transpose_b=bool(transB))
    if alpha != 1:
        found = ops.cast(ops.multiply(found, alpha), a.dtype)
    if c is None or beta == 0:
        return found
    scaled = c if beta == 1 else ops.cast(ops.multiply(c, beta), c.dtype)
    return ops.add(found, scaled)


def is_bias(c: Tensor | None, weight: Tensor, beta: float) -> bool:
    """Whether a summand is one number for each row of a weight, or none."""
    return c is None or (beta == 1 and same_shape(c.shape, weight.shape[:1]))


@onnx("Gemm", since=1)
def gemm_before_7(
    a: Tensor, b: Tensor, c: Tensor, *, alpha: float = 1.0, beta: float = 1.0,
    broadcast: int = 0, transA: int = 0, transB: int = 0,
) -> Tensor:  # fmt: skip
    """The same; c broadcasts whether or not the attribute says so."""
    return gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)


@onnx("Einsum", since=12)
def einsum(*tensors: Tensor, equation: str) -> Tensor:
    """The sum of products that the equation spells."""
    return ops.einsum(equation, *tensors)
