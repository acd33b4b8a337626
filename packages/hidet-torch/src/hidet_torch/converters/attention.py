"""Attention as one operator."""

from __future__ import annotations

from typing import Any

from hidet import ops
from hidet.graph import Tensor
from hidet_torch.converters.table import Untold, aten, require, torch
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


LOGSUMEXP = Untold("the logarithms of sums of attention")


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
    return attention(q, k, v, attn_mask, dropout, causal, scale=scale), LOGSUMEXP


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
    return attention(q, k, v, None, dropout, causal, scale=scale), *[LOGSUMEXP] * 8


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
    """PyTorch's memory-efficient attention."""
    return attention(q, k, v, bias, dropout, causal, scale=scale), *[LOGSUMEXP] * 3
