"""Layers whose weights, and often inputs, are quantised: they multiply integers."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.types import f32
from hidet_onnx.converters.microsoft.attention import Known
from hidet_onnx.converters.microsoft.norm import counted
from hidet_onnx.converters.quantize import by_axis, dynamic_quantize_linear
from hidet_onnx.converters.recurrent import lstm
from hidet_onnx.converters.table import microsoft


@microsoft("MatMulIntegerToFloat")
def matmul_integer_to_float(
    a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, a_zero: Tensor | None = None,
    b_zero: Tensor | None = None, bias: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The product of two quantised matrices as real numbers, plus a bias.

    b has one scale and zero point, or one for each column.
    """
    total = ops.matmul_integer(a, b, a_zero, b_zero)
    scale = ops.multiply(ops.cast(ops.reshape(a_scale, ()), f32), by_axis(b_scale, -1))
    found = ops.multiply(ops.cast(total, f32), scale)
    found = found if bias is None else ops.add(found, bias)
    return ops.cast(found, a_scale.dtype)


@microsoft("DynamicQuantizeMatMul")
def dynamic_quantize_matmul(
    a: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor | None = None, bias: Tensor | None = None
) -> Tensor:
    """The product of a, quantised by its own range, and a quantised matrix, plus a bias."""
    narrow, scale, zero = dynamic_quantize_linear(a)
    return matmul_integer_to_float(narrow, b, scale, b_scale, zero, b_zero, bias)


@microsoft("QGemm")
def qgemm(
    a: Tensor, a_scale: Tensor, a_zero: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor,
    c: Tensor | None = None, y_scale: Tensor | None = None, y_zero: Tensor | None = None, *,
    alpha: float = 1.0, transA: int = 0, transB: int = 0,
) -> Tensor:  # fmt: skip
    """alpha * a @ b + c of quantised matrices, quantised where `y_scale` is there.

    c (int32) is in units of alpha * a_scale * b_scale.
    """
    left = ops.transpose(a, 0, 1) if transA else a
    total = ops.matmul_integer(left, b, a_zero, b_zero, transpose_b=bool(transB))
    total = total if c is None else ops.add(total, c)
    scale = ops.multiply(ops.cast(ops.reshape(a_scale, ()), f32), by_axis(b_scale, -1))
    found = ops.multiply(ops.cast(total, f32), ops.multiply(scale, alpha))
    return found if y_scale is None else ops.quantize(found, y_scale, y_zero, dtype=a.dtype)


@microsoft("QAttention")
def qattention(
    x: Tensor, weight: Tensor, bias: Tensor, x_scale: Tensor, weight_scale: Tensor,
    mask: Tensor | None = None, x_zero: Tensor | None = None, weight_zero: Tensor | None = None,
    past: Tensor | None = None, *,
    do_rotary: int = 0, mask_filter_value: float = -10000.0, num_heads: int,
    past_present_share_buffer: int = 0, scale: float = 0.0, unidirectional: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Attention of q, k and v that a matmul of integers makes of x, then keys and values."""
    if do_rotary or past_present_share_buffer:
        raise NotYet("quantised attention with rotary embedding inside or a shared cache")
    made = matmul_integer_to_float(x, weight, x_scale, weight_scale, x_zero, weight_zero, bias)
    known = Known(mask_filter_value, scale, bool(unidirectional), mask, None)
    return known.of_projection(made, past, None, num_heads, None)


@microsoft("QEmbedLayerNormalization")
def qembed_layer_normalization(
    input_ids: Tensor, segment_ids: Tensor | None, words: Tensor, positions: Tensor,
    segments: Tensor | None, gamma: Tensor, beta: Tensor, mask: Tensor | None,
    words_scale: Tensor, positions_scale: Tensor, segments_scale: Tensor | None,
    gamma_scale: Tensor, beta_scale: Tensor, words_zero: Tensor, positions_zero: Tensor,
    segments_zero: Tensor | None, gamma_zero: Tensor, beta_zero: Tensor, *,
    epsilon: float = 1e-12,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The layer norm of what words, positions and segments stand for, and how many words count."""
    where = ops.iota(input_ids.shape[1], device=input_ids.device)
    total = ops.add(
        rows_of(words, input_ids, words_scale, words_zero),
        rows_of(positions, where, positions_scale, positions_zero),
    )
    if segment_ids is not None and segments is not None and segments_scale is not None:
        total = ops.add(total, rows_of(segments, segment_ids, segments_scale, segments_zero))
    weight = ops.dequantize(gamma, gamma_scale, gamma_zero)
    bias = ops.dequantize(beta, beta_scale, beta_zero)
    return ops.layer_norm(total, weight, bias, eps=epsilon), counted(mask, input_ids)


def rows_of(table: Tensor, ids: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    """The rows of a quantised table, as real numbers."""
    return ops.dequantize(ops.embedding(table, ids), scale, zero)


@microsoft("DynamicQuantizeLSTM")
def dynamic_quantize_lstm(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor | None, lengths: Tensor | None,
    initial_h: Tensor | None, initial_c: Tensor | None, p: Tensor | None, w_scale: Tensor,
    w_zero: Tensor, r_scale: Tensor, r_zero: Tensor, *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None, activations: Sequence[str] | None = None,
    clip: float | None = None, direction: str = "forward", hidden_size: int | None = None,
    input_forget: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """An LSTM of quantised weights [directions, inputs, 4 * hidden], which are made real once.

    ONNX Runtime also rounds the inputs and states of each step to bytes; here they stay as they
    are, which is nearer to the layer that was quantised.
    """
    return lstm(
        x, by_rows(w, w_scale, w_zero), by_rows(r, r_scale, r_zero), b, lengths, initial_h,
        initial_c, p, activation_alpha=activation_alpha, activation_beta=activation_beta,
        activations=activations, clip=clip, direction=direction, hidden_size=hidden_size,
        input_forget=input_forget,
    )  # fmt: skip


def by_rows(weight: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """Real weights [directions, 4 * hidden, inputs]; a scale is a direction's or a column's."""
    shape = (weight.shape[0], 1, -1)
    centred = ops.subtract(ops.cast(weight, f32), ops.reshape(ops.cast(zero, f32), shape))
    return ops.transpose(ops.multiply(centred, ops.reshape(scale, shape)), 1, 2)
