"""Layers that PyTorch's own modules call as one operator in evaluation."""

from __future__ import annotations

from typing import Any

from hidet import ops
from hidet.graph import Tensor
from hidet.types import boolean
from hidet_torch.converters.table import NotComputed, aten, require, torch

PADDING = 1
"""The kind of a mask that says which keys of each text count for nothing."""


@torch(aten._native_multi_head_attention.default)
def multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    size: int,
    heads: int,
    weight: Tensor,
    bias: Tensor,
    weight_out: Tensor,
    bias_out: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Any, ...]:
    """Projections, attention of several heads, and a projection."""
    require(query.ndim == 3, "attention of texts without a batch")
    parts = projected((query, key, value), weight, bias, size)
    q, k, v = (
        ops.permute(ops.reshape(each, (*each.shape[:2], heads, size // heads)), (0, 2, 1, 3))
        for each in parts
    )
    found = ops.attention(q, k, v, kept(mask, mask_type))
    joined = ops.reshape(ops.permute(found, (0, 2, 1, 3)), query.shape)
    return ops.linear(joined, weight_out, bias_out), NotComputed("the weights of attention")


def projected(
    given: tuple[Tensor, ...], weight: Tensor, bias: Tensor, size: int
) -> tuple[Tensor, ...]:
    """Queries, keys and values; by one matmul where they come from the same."""
    if all(each is given[0] for each in given):
        return ops.split(ops.linear(given[0], weight, bias), size, -1)
    rows = zip(given, ops.split(weight, size, 0), ops.split(bias, size, 0), strict=True)
    return tuple(ops.linear(*each) for each in rows)


def kept(mask: Tensor | None, kind: int | None) -> Tensor | None:
    """What attention may look at; PyTorch's mask says what it may not."""
    if mask is None:
        return None
    found = ops.logical_not(ops.cast(mask, boolean))
    return ops.unsqueeze(found, (1, 2)) if kind == PADDING else found


@torch(aten._transformer_encoder_layer_fwd.default)
def encoder_layer(
    x: Tensor,
    size: int,
    heads: int,
    weight: Tensor,
    bias: Tensor,
    weight_out: Tensor,
    bias_out: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    weight_1: Tensor,
    bias_1: Tensor,
    weight_2: Tensor,
    bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """A layer of torch.nn.TransformerEncoder."""

    def attended(y: Tensor) -> Tensor:
        given = (y, y, y, size, heads, weight, bias, weight_out, bias_out, mask)
        found: Tensor = multi_head_attention(*given, mask_type=mask_type)[0]
        return found

    def fed(y: Tensor) -> Tensor:
        inner = ops.linear(y, weight_1, bias_1)
        return ops.linear(ops.gelu(inner) if use_gelu else ops.relu(inner), weight_2, bias_2)

    def first(y: Tensor) -> Tensor:
        return ops.layer_norm(y, norm_weight_1, norm_bias_1, axes=(-1,), eps=eps)

    def second(y: Tensor) -> Tensor:
        return ops.layer_norm(y, norm_weight_2, norm_bias_2, axes=(-1,), eps=eps)

    if norm_first:
        x = ops.add(x, attended(first(x)))
        return ops.add(x, fed(second(x)))
    x = first(ops.add(x, attended(x)))
    return second(ops.add(x, fed(x)))
