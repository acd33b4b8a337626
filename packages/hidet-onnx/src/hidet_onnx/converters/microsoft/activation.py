"""Matmuls and activations of ONNX Runtime's own domain."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet_onnx.converters.quantize import dequantize_linear, quantize_linear
from hidet_onnx.converters.table import microsoft

microsoft.rows({"Gelu": ops.gelu})
microsoft.rows({"QuantizeLinear": quantize_linear, "DequantizeLinear": dequantize_linear})


@microsoft("FusedMatMul")
def fused_matmul(
    a: Tensor, b: Tensor, *, alpha: float = 1.0, transA: int = 0, transB: int = 0,
    transBatchA: int = 0, transBatchB: int = 0,
) -> Tensor:  # fmt: skip
    """alpha * a @ b, either matrix transposed if so asked."""
    a = batch_inside(a) if transBatchA else a
    b = batch_inside(b) if transBatchB else b
    found = ops.matmul(a, b, transpose_a=bool(transA), transpose_b=bool(transB))
    return found if alpha == 1 else ops.cast(ops.multiply(found, alpha), found.dtype)


def batch_inside(x: Tensor) -> Tensor:
    """x[rows, ..., columns] as [..., rows, columns]."""
    return ops.permute(x, (*range(1, x.ndim - 1), 0, x.ndim - 1))


@microsoft("BiasGelu")
def bias_gelu(x: Tensor, bias: Tensor) -> Tensor:
    """gelu(x + bias)."""
    return ops.gelu(ops.add(x, bias))


@microsoft("FastGelu")
def fast_gelu(x: Tensor, bias: Tensor | None = None) -> Tensor:
    """gelu(x + bias), approximated by tanh."""
    return ops.gelu(x if bias is None else ops.add(x, bias), "tanh")


@microsoft("QuickGelu")
def quick_gelu(x: Tensor, *, alpha: float = 1.702) -> Tensor:
    """x times the sigmoid of alpha * x."""
    return ops.multiply(x, ops.sigmoid(ops.multiply(x, alpha)))
