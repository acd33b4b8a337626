"""Norms that ONNX Runtime fuses with what is summed before them."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet.types import i32
from hidet_onnx.converters.table import microsoft


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
    return ops.layer_norm(total, gamma, beta, eps=epsilon), counted(mask, input_ids), total


def counted(mask: Tensor | None, ids: Tensor) -> Tensor:
    """How many words of each sample count; zero without a mask."""
    if mask is None:
        return ops.zeros((ids.shape[0],), i32, device=ids.device)
    return ops.cast(ops.sum(mask, 1), i32)
