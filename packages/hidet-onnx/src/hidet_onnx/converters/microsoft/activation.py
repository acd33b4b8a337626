"""Matmuls and activations of ONNX Runtime's own domain."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet_onnx.converters.create import dropout
from hidet_onnx.converters.microsoft.experts import Gate
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


@microsoft("TransposeMatMul")
def transpose_matmul(
    a: Tensor, b: Tensor, *, alpha: float = 1.0, transA: int = 0, transB: int = 0
) -> Tensor:
    """FusedMatMul by its former name."""
    return fused_matmul(a, b, alpha=alpha, transA=transA, transB=transB)


@microsoft("GemmFastGelu")
def gemm_fast_gelu(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """gelu(x @ weight + bias), approximated by tanh."""
    return fast_gelu(ops.matmul(x, weight), bias)


@microsoft("BiasSplitGelu")
def bias_split_gelu(x: Tensor, bias: Tensor) -> Tensor:
    """The first half of x + bias along the last axis, times the gelu of the second."""
    value, gate = ops.chunk(ops.add(x, bias), 2, -1)
    return ops.multiply(value, ops.gelu(gate))


@microsoft("BiasAdd")
def bias_add(x: Tensor, bias: Tensor, skip: Tensor) -> Tensor:
    """x + bias + skip."""
    return ops.add(ops.add(x, bias), skip)


@microsoft("BiasSoftmax")
def bias_softmax(x: Tensor, bias: Tensor, *, axis: int = 1, is_inner_broadcast: int) -> Tensor:
    """The softmax of x + bias over all axes from one on."""
    total = ops.add(x, bias)
    rows = ops.reshape(total, (*x.shape[: axis % x.ndim], -1))
    return ops.reshape(ops.softmax(rows, -1), x.shape)


@microsoft("BiasDropout")
def bias_dropout(
    x: Tensor, bias: Tensor, residual: Tensor | None = None, ratio: Tensor | None = None,
    training_mode: Tensor | None = None, *, seed: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """x + bias + residual, of which nothing is dropped, and a mask that keeps all."""
    found, mask = dropout(ops.add(x, bias), ratio, training_mode, seed=seed)
    return found if residual is None else ops.add(found, residual), mask


@microsoft("ScaledSiLU")
def scaled_silu(x: Tensor, scale: Tensor | None = None, *, alpha: float = 1.0) -> Tensor:
    """z times the sigmoid of z = scale * x."""
    factor = alpha if scale is None else ops.cast(ops.reshape(scale, ()), x.dtype)
    return ops.silu(ops.cast(ops.multiply(x, factor), x.dtype))


@microsoft("SwiGLU")
def swiglu(
    gate: Tensor, up: Tensor | None = None, *, activation_alpha: float = 1.0,
    activation_beta: float = 0.0, limit: float = 0.0, round_activation: int = 0,
) -> Tensor:  # fmt: skip
    """The swish of the gate times the rest; without `up` both are halves of the last axis."""
    first, second = ops.chunk(gate, 2, -1) if up is None else (gate, up)
    bound = limit if limit > 0 else None
    return Gate("swiglu", activation_alpha, activation_beta, 0, bound).swiglu(first, second)
