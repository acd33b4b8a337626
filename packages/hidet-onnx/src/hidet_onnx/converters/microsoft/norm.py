"""Norms that ONNX Runtime fuses with what is summed before them."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet.types import f32, i32
from hidet_onnx.converters.microsoft.conv import channels_last as to_channels_last
from hidet_onnx.converters.microsoft.conv import channels_second
from hidet_onnx.converters.norm import rms_normalization
from hidet_onnx.converters.table import microsoft, onnx


@onnx("SimplifiedLayerNormalization")
def simplified_layer_normalization(
    x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[Tensor, ...]:
    """The RMS norm of x from an axis on, and the inverse of the root of the mean square.

    ONNX Runtime has it in the standard domain, where ONNX does not.
    """
    axes = tuple(range(axis % x.ndim, x.ndim))
    square = ops.mean(ops.square(ops.cast(x, f32)), axes, keepdims=True)
    found = rms_normalization(x, scale, axis=axis, epsilon=epsilon, stash_type=stash_type)
    return ops.cast(found, scale.dtype), ops.rsqrt(ops.add(square, epsilon))


@microsoft("GroupNorm")
def group_norm(
    x: Tensor, gamma: Tensor, beta: Tensor, *, activation: int, channels_last: int = 1,
    epsilon: float = 1e-5, groups: int,
) -> Tensor:  # fmt: skip
    """Zero mean and unit variance in each group of channels, then silu if `activation` is 1."""
    given = channels_second(x) if channels_last else x
    found = ops.group_norm(given, groups, gamma, beta, eps=epsilon)
    found = ops.cast(ops.silu(found) if activation == 1 else found, x.dtype)
    return to_channels_last(found) if channels_last else found


@microsoft("SkipGroupNorm")
def skip_group_norm(
    x: Tensor, gamma: Tensor, beta: Tensor, skip: Tensor, bias: Tensor | None = None, *,
    activation: int, channels_last: int = 1, epsilon: float = 1e-5, groups: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The group norm of x + skip + bias, and that sum; one skip may be for all of an image."""
    spread = (-1, 1, 1) if not channels_last else (1, 1, -1)
    if skip.ndim == 2:
        skip = ops.reshape(skip, (skip.shape[0], *spread))
    total = ops.add(x, skip)
    total = total if bias is None else ops.add(total, ops.reshape(bias, spread))
    found = group_norm(
        total, gamma, beta, activation=activation, channels_last=channels_last, epsilon=epsilon,
        groups=groups,
    )  # fmt: skip
    return found, total


@microsoft("GatedRMSNorm")
def gated_rms_norm(
    x: Tensor, scale: Tensor, gate: Tensor, *, activation: str = "silu", epsilon: float = 1e-5
) -> Tensor:
    """The RMS norm of each group of as many neighbours as `scale` has, times the gate's activation.

    All of it is computed in float32.
    """
    apart = (*x.shape[:-1], -1, scale.shape[0])
    wide = ops.cast(ops.reshape(x, apart), f32)
    found = ops.reshape(ops.rms_norm(wide, ops.cast(scale, f32), eps=epsilon), x.shape)
    compute = ops.sigmoid if activation == "sigmoid" else ops.silu
    return ops.cast(ops.multiply(found, compute(ops.cast(gate, f32))), x.dtype)


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
