"""Operators of ONNX Runtime's own domain: products, activations and norms that it fuses."""

from __future__ import annotations

from hidet import ops
from hidet.errors import BadArgument, NotYet
from hidet.graph import Tensor
from hidet.types import f32, i32, u8
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


@microsoft("SkipLayerNormalization")
def skip_layer_normalization(
    x: Tensor, skip: Tensor, gamma: Tensor, beta: Tensor | None = None,
    bias: Tensor | None = None, *, epsilon: float = 1e-12,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The layer norm of x + skip + bias, its mean and inverse deviation, and that sum."""
    total = summed(x, skip, bias)
    mean, deviation = ops.moments(total, (total.ndim - 1,), epsilon)
    return ops.layer_norm(total, gamma, beta, eps=epsilon), mean, deviation, total


@microsoft("SkipSimplifiedLayerNormalization")
def skip_simplified_layer_normalization(
    x: Tensor, skip: Tensor, gamma: Tensor, bias: Tensor | None = None, *, epsilon: float = 1e-12
) -> tuple[Tensor | None, ...]:
    """The RMS norm of x + skip + bias, and as the fourth result that sum."""
    total = summed(x, skip, bias)
    return ops.rms_norm(total, gamma, eps=epsilon), None, None, total


def summed(x: Tensor, skip: Tensor, bias: Tensor | None) -> Tensor:
    """The sum of what is there."""
    total = ops.add(x, skip)
    return total if bias is None else ops.add(total, bias)


@microsoft("EmbedLayerNormalization")
def embed_layer_normalization(
    input_ids: Tensor, segment_ids: Tensor | None, words: Tensor, positions: Tensor,
    segments: Tensor | None, gamma: Tensor, beta: Tensor, mask: Tensor | None = None,
    position_ids: Tensor | None = None, *, epsilon: float = 1e-12, mask_index_type: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The layer norm of what words, positions and segments stand for, the words that count by the
    mask, and the sum that was normalised."""
    rows = input_ids.shape[1]
    where = ops.iota(rows, device=input_ids.device) if position_ids is None else position_ids
    total = ops.add(ops.embedding(words, input_ids), ops.embedding(positions, where))
    if segment_ids is not None and segments is not None:
        total = ops.add(total, ops.embedding(segments, segment_ids))
    if mask is None:
        counts = ops.zeros((input_ids.shape[0],), i32, device=input_ids.device)
    else:
        counts = ops.cast(ops.sum(mask, 1), i32)
    return ops.layer_norm(total, gamma, beta, eps=epsilon), counts, total


@microsoft("MatMulNBits")
def matmul_n_bits(
    a: Tensor, b: Tensor, scales: Tensor, zero_points: Tensor | None = None,
    group_index: Tensor | None = None, bias: Tensor | None = None, *,
    K: int, N: int, accuracy_level: int = 0, bits: int = 4, block_size: int,
) -> Tensor:  # fmt: skip
    """a[..., K] times the transpose of weights [N, K] that are packed, `bits` each, in blocks."""
    if bits not in (2, 4, 8) or group_index is not None:
        raise NotYet(f"weights of {bits} bits" if group_index is None else "a group index")
    blocks = -(-K // block_size)
    if bits == 4 and (zero_points is None or zero_points.dtype is u8):
        numbers = ops.reshape(b, (N, blocks * block_size // 2))
        zeros = None
        if zero_points is not None:
            per_row = ops.reshape(unpacked(zero_points, bits), (N, -1))
            zeros = ops.cast(ops.slice(per_row, 1, 0, blocks), u8)
        scale = ops.reshape(scales, (N, blocks))
        return ops.packed_linear(a, numbers, scale, zeros, bias, block=block_size)
    weights = ops.reshape(unpacked(b, bits), (N, blocks, block_size))
    if zero_points is None:
        zero: Tensor | float = float(2 ** (bits - 1))
    elif zero_points.dtype is u8:
        per_row = ops.reshape(unpacked(zero_points, bits), (N, -1))
        zero = ops.unsqueeze(ops.slice(per_row, 1, 0, blocks), -1)
    else:
        zero = ops.reshape(ops.cast(zero_points, f32), (N, blocks, 1))
    factor = ops.reshape(ops.cast(scales, f32), (N, blocks, 1))
    real = ops.multiply(ops.subtract(weights, zero), factor)
    rows = ops.slice(ops.reshape(real, (N, blocks * block_size)), 1, 0, K)
    return ops.linear(a, ops.cast(rows, a.dtype), bias)


def unpacked(x: Tensor, bits: int) -> Tensor:
    """Bytes as the numbers packed in them, the low bits first, in float32 along the last axis."""
    if x.dtype is not u8:
        raise BadArgument(f"packed numbers are bytes, not {x.dtype.name}")
    wide = ops.cast(ops.unsqueeze(x, -1), i32)
    each = 8 // bits
    shifts = ops.multiply(ops.iota(each, dtype=i32, device=x.device), bits)
    found = ops.bitwise_and(ops.shift_right(wide, shifts), 2**bits - 1)
    return ops.cast(ops.flatten(found, -2, -1), f32)
