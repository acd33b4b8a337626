"""Attention whose heads of keys and values serve several heads of queries each."""

from __future__ import annotations

from dataclasses import dataclass

from hidet import ops
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.types import Size, boolean
from hidet_onnx.converters.attention import (
    INFINITE,
    Masks,
    added,
    attended,
    default_scale,
    heads,
    packed,
    rotated,
    scores_of,
)
from hidet_onnx.converters.here import here
from hidet_onnx.converters.microsoft.caches import data_sizes, whole, written
from hidet_onnx.converters.microsoft.masks import by_sample
from hidet_onnx.converters.table import microsoft


@microsoft("GroupQueryAttention")
def group_query_attention(
    q: Tensor, k: Tensor | None, v: Tensor | None, past_key: Tensor | None,
    past_value: Tensor | None, lengths: Tensor, total_length: Tensor,
    cos: Tensor | None = None, sin: Tensor | None = None, position_ids: Tensor | None = None,
    attention_bias: Tensor | None = None, head_sink: Tensor | None = None,
    k_scale: Tensor | None = None, v_scale: Tensor | None = None,
    q_norm_weight: Tensor | None = None, k_norm_weight: Tensor | None = None,
    query_lengths: Tensor | None = None, *,
    causal: int = 1, do_rotary: int = 0, k_norm_epsilon: float | None = None,
    k_quant_type: str = "NONE", kv_cache_bit_width: int = 0, kv_num_heads: int,
    local_window_size: int = -1, num_heads: int, q_norm_epsilon: float | None = None,
    qk_norm_epsilon: float = 1e-6, qk_output: int = 0, rotary_interleaved: int = 0,
    scale: float = 0.0, sliding_window_cache: int = 0, smooth_softmax: int = -1,
    softcap: float = 0.0, v_quant_type: str = "NONE",
) -> tuple[Tensor, ...]:  # fmt: skip
    """Attention of q [batch, rows, heads * size], then the caches with the keys and values.

    `lengths` are the keys of each sample less one: where a sample's cache ends its new rows follow.
    Without k, q is all three. `head_sink` is for each head a score more in the sum of the softmax,
    `smooth_softmax` one of zero.
    """
    if kv_cache_bit_width or {k_quant_type, v_quant_type} != {"NONE"}:
        raise NotYet("quantised keys and values")
    if sliding_window_cache:
        raise NotYet("a cache of a window's rows")
    q, k, v = three(q, k, v, num_heads, kv_num_heads)
    for_q, for_k = q_norm_epsilon or qk_norm_epsilon, k_norm_epsilon or qk_norm_epsilon
    q = q if q_norm_weight is None else ops.rms_norm(q, q_norm_weight, eps=for_q)
    k = k if k_norm_weight is None else ops.rms_norm(k, k_norm_weight, eps=for_k)
    rows = q.shape[2]
    start: Size | Tensor = 0 if past_key is None else former(lengths, rows, query_lengths)
    if do_rotary and cos is not None and sin is not None:
        where = positions(start, rows, q.device) if position_ids is None else position_ids
        c, d = (ops.unsqueeze(ops.embedding(each, where), 1) for each in (cos, sin))
        half = cos.shape[1]
        turned = 2 * half if isinstance(half, int) else 0
        q, k = (rotated(each, c, d, turned, bool(rotary_interleaved)) for each in (q, k))
    keys, values = k, v
    if past_key is not None and past_value is not None and isinstance(start, Tensor):
        count = whole(past_key.shape[2], data_sizes(total_length))
        keys = written(past_key, k, start, count)
        values = written(past_value, v, start, count)
    valid = None if causal else ops.add(lengths, 1)
    left = local_window_size - 1 if local_window_size > 0 else -1
    masks = Masks(attention_bias, bool(causal), left, -1, start, valid)
    sinks = Sinks(head_sink, smooth_softmax > 0)
    factor = scale or default_scale(q)
    found = sinks.attended(q, keys, values, masks, factor, softcap)
    if not here().reads(3):
        return packed(found), keys, values
    return (
        packed(found),
        keys,
        values,
        scores_of(q, keys, masks, factor, softcap, 2 * qk_output - 1),
    )


def three(
    q: Tensor, k: Tensor | None, v: Tensor | None, count: int, key_count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v as [batch, heads, rows, size], also out of one tensor."""
    if k is None or v is None:
        size = q.shape[-1] // (count + 2 * key_count)
        sizes = (count * size, key_count * size, key_count * size)
        q, k, v = ops.split(q, sizes, 2)
    return heads(q, count), heads(k, key_count), heads(v, key_count)


def former(lengths: Tensor, rows: Size, valid: Tensor | None) -> Tensor:
    """How many rows of the cache each sample has: [batch, 1, 1, 1].

    Of the rows of a call all are new, or those that are `valid`.
    """
    total = ops.add(by_sample(lengths), 1)
    if valid is not None:
        return ops.subtract(total, by_sample(valid))
    return ops.maximum(ops.subtract(total, rows), 0)


def positions(start: Size | Tensor, rows: Size, device: str) -> Tensor:
    """The positions of the rows of a call: [batch or 1, rows]."""
    row = ops.reshape(ops.iota(rows, device=device), (1, -1))
    return ops.add(row, ops.reshape(start, (-1, 1)) if isinstance(start, Tensor) else start)


@dataclass(frozen=True)
class Sinks:
    """Scores that take part in the sum of a softmax and stand for no value."""

    of_heads: Tensor | None
    is_smooth: bool

    def attended(
        self, q: Tensor, k: Tensor, v: Tensor, masks: Masks, scale: float, softcap: float
    ) -> Tensor:
        """Attention with one more key, which is zero as its value is; the mask has its score."""
        if self.of_heads is None and not self.is_smooth:
            return attended(q, k, v, masks, scale, softcap)
        keys = k.shape[2]
        mask = masks.combined(q.shape[2], keys, q)
        if mask is None:
            mask = ops.zeros((1, keys), q.dtype, device=q.device)
        elif mask.dtype is boolean:
            mask = added(mask, INFINITE, q.dtype)
        mask = ops.pad(mask, [*[(0, 0)] * (mask.ndim - 1), (0, 1)])
        if self.of_heads is not None:
            column = ops.reshape(ops.cast(self.of_heads, mask.dtype), (-1, 1, 1))
            mask = ops.add(mask, ops.pad(column, [(0, 0), (0, 0), (keys, 0)]))
        k, v = (ops.pad(each, [(0, 0), (0, 0), (0, 1), (0, 0)]) for each in (k, v))
        every = Masks(mask, False, -1, -1, 0, None)
        return attended(q, k, v, every, scale, softcap)
