"""Attention as one operator."""

from __future__ import annotations

import math
from typing import Any

from hidet import ops
from hidet.graph import Tensor
from hidet.types import f32
from hidet_torch.converters.table import NotComputed, aten, require, torch
from hidet_torch.converters.whole import SDPA


@torch(aten.scaled_dot_product_attention.default, SDPA)
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    dropout: float = 0.0,
    causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Rows of q weigh rows of v; `enable_gqa` is seen from the numbers of heads."""
    require(dropout == 0, "attention with dropout")
    lead = max(0, 3 - q.ndim)
    if lead:
        q, k, v = (ops.unsqueeze(each, tuple(range(lead))) for each in (q, k, v))
    if mask is not None and mask.ndim < 2:
        mask = ops.unsqueeze(mask, tuple(range(2 - mask.ndim)))
    found = ops.attention(q, k, v, mask, causal=causal, scale=scale)
    return ops.squeeze(found, tuple(range(lead))) if lead else found


SEED = NotComputed("the random state and the lengths of attention")
"""What PyTorch's kernels give beside attention for their own backward passes."""


@torch(aten._scaled_dot_product_flash_attention_for_cpu.default)
def flash_on_cpu(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout: float = 0.0,
    causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Any, ...]:
    """PyTorch's attention on the CPU."""
    return with_sums(q, k, v, attn_mask, dropout, causal, scale)


@torch(aten._scaled_dot_product_flash_attention.default)
def flash(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout: float = 0.0,
    causal: bool = False,
    debug: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    """PyTorch's flash attention."""
    return *with_sums(q, k, v, None, dropout, causal, scale), *[SEED] * 7


@torch(aten._scaled_dot_product_efficient_attention.default)
def efficient(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None,
    compute_logsumexp: bool,
    dropout: float = 0.0,
    causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    """PyTorch's memory-efficient attention, whose sums are for rows in multiples of 32, or none."""
    found, sums = with_sums(q, k, v, bias, dropout, causal, scale)
    if isinstance(sums, Tensor):
        rows = sums.shape[-1]
        if compute_logsumexp:
            sums = ops.pad(sums, [(0, 0)] * (sums.ndim - 1) + [(0, -rows % 32)])
        else:
            sums = ops.slice(sums, -1, 0, 0)
    return found, sums, SEED, SEED


@torch(aten._scaled_dot_product_cudnn_attention.default)
def cudnn(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None,
    compute_logsumexp: bool,
    dropout: float = 0.0,
    causal: bool = False,
    debug: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    """The attention of cuDNN, whose sums are a column."""
    found, sums = with_sums(q, k, v, bias, dropout, causal, scale)
    column = ops.unsqueeze(sums, -1) if isinstance(sums, Tensor) else sums
    return found, column, *[SEED] * 7


@torch(aten._scaled_dot_product_fused_attention_overrideable.default)
def overrideable(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    causal: bool = False,
    debug: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    """The attention that a device of another vendor brings."""
    return *with_sums(q, k, v, bias, dropout, causal, scale), *[SEED] * 7


def with_sums(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    dropout: float,
    causal: bool,
    scale: float | None,
) -> tuple[Tensor, Tensor | NotComputed]:
    """Attention, and the logarithms of its sums."""
    found = attention(q, k, v, mask, dropout, causal, scale=scale)
    return found, logsumexp(q, k, mask, causal, scale)


def logsumexp(
    q: Tensor, k: Tensor, mask: Tensor | None, causal: bool, scale: float | None
) -> Tensor | NotComputed:
    """The logarithm of the sum of exponentials of each row's scores, in float32.

    It is a matmul of its own; where nobody reads it, it is not in the graph.
    """
    heads, _, size = q.shape[-3:]
    if heads != k.shape[-3] or not isinstance(size, int):
        return NotComputed("the logarithms of sums of attention, of heads that share keys")
    factor = scale if scale is not None else 1 / math.sqrt(size)
    keys = ops.transpose(ops.cast(k, f32), -1, -2)
    scores = ops.matmul(ops.multiply(ops.cast(q, f32), factor), keys)
    if mask is not None and mask.dtype.is_bool:
        scores = ops.where(mask, scores, float("-inf"))
    elif mask is not None:
        scores = ops.add(scores, ops.cast(mask, f32))
    if causal:
        rows, columns = (ops.iota(each, device=q.device) for each in scores.shape[-2:])
        kept = ops.less_equal(columns, ops.unsqueeze(rows, -1))
        scores = ops.where(kept, scores, float("-inf"))
    return ops.logsumexp(scores, -1)
