"""Attention in ONNX Runtime's own domain."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.types import Size, boolean, f32, i64
from hidet_onnx.converters.attention import (
    Masks,
    added,
    attended,
    default_scale,
    heads,
    packed,
    rotary_embedding,
    rotated,
)
from hidet_onnx.converters.table import microsoft


@microsoft("RotaryEmbedding")
def rotary_embedding_of_rows(
    x: Tensor, position_ids: Tensor, cos: Tensor, sin: Tensor, *, interleaved: int = 0,
    is_packed_batching: int = 0, num_heads: int = 0, rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Tensor:  # fmt: skip
    """Pairs of elements turned by the angle of their row's position, or of the first row's."""
    if is_packed_batching:
        raise NotYet("rotary embedding of samples packed together")
    if scale != 1:
        raise NotYet("rotary embedding with a scale")
    where = positions(position_ids, x.shape[1] if x.ndim == 3 else x.shape[2])
    count = num_heads
    if x.ndim == 3 and not count:
        size = cos.shape[-1] * 2
        width = x.shape[-1]
        if not isinstance(width, int) or not isinstance(size, int):
            raise NotYet("rotary embedding of heads of unknown size")
        count = width // size
    return rotary_embedding(
        x, cos, sin, where, interleaved=interleaved, num_heads=count or None,
        rotary_embedding_dim=rotary_embedding_dim,
    )  # fmt: skip


def positions(given: Tensor, rows: Size) -> Tensor:
    """The position of each row: as given, or from one number on."""
    if given.ndim == 2:
        return given
    start = ops.reshape(ops.cast(given, i64), (1, 1))
    return ops.add(start, ops.reshape(ops.iota(rows, device=given.device), (1, -1)))


@microsoft("MultiHeadAttention")
def multi_head_attention(
    q: Tensor, k: Tensor | None = None, v: Tensor | None = None, bias: Tensor | None = None,
    key_padding_mask: Tensor | None = None, attention_bias: Tensor | None = None,
    past_key: Tensor | None = None, past_value: Tensor | None = None, *,
    mask_filter_value: float = -10000.0, num_heads: int, scale: float = 0.0,
    unidirectional: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Attention of q, k and v [batch, rows, heads * size], then the keys and values of all rows."""
    if k is None or v is None or q.ndim != 3:
        raise NotYet("attention of q, k and v in one tensor")
    if bias is not None:
        sizes = [each.shape[-1] for each in (q, k, v)]
        parts = ops.split(bias, sizes, 0)
        q, k, v = (ops.add(each, part) for each, part in zip((q, k, v), parts, strict=True))
    q = heads(q, num_heads)
    keys = k if k.ndim == 4 else heads(k, num_heads)
    values = v if v.ndim == 4 else heads(v, num_heads)
    past: Size = 0
    if past_key is not None and past_value is not None:
        past = past_key.shape[2]
        keys, values = ops.concat((past_key, keys), 2), ops.concat((past_value, values), 2)
    mask = with_padding(attention_bias, key_padding_mask, mask_filter_value)
    masks = Masks(mask, bool(unidirectional), -1, -1, past, None)
    found = attended(q, keys, values, masks, scale or default_scale(q), 0.0)
    return packed(found), keys, values


def with_padding(bias: Tensor | None, mask: Tensor | None, value: float) -> Tensor | None:
    """What is added to scores: a bias, and a large negative number where keys are padding."""
    if mask is None:
        return bias
    if mask.ndim == 1:
        raise NotYet("a mask of lengths")
    shape = {2: (mask.shape[0], 1, 1, mask.shape[1]), 3: (mask.shape[0], 1, *mask.shape[1:])}
    apart = ops.reshape(mask, shape[mask.ndim]) if mask.ndim in shape else mask
    padding = added(ops.cast(apart, boolean), value, f32 if bias is None else bias.dtype)
    return padding if bias is None else ops.add(bias, padding)


@microsoft("Attention")
def attention_of_one(
    x: Tensor, weights: Tensor, bias: Tensor | None = None, mask: Tensor | None = None,
    past: Tensor | None = None, attention_bias: Tensor | None = None,
    past_length: Tensor | None = None, *,
    do_rotary: int = 0, mask_filter_value: float = -10000.0, num_heads: int,
    past_present_share_buffer: int = 0, qkv_hidden_sizes: Sequence[int] | None = None,
    rotary_embedding_dim: int = 0, scale: float = 0.0, unidirectional: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Attention of q, k and v that one product makes of x, then keys and values of all rows."""
    if do_rotary or past_present_share_buffer:
        raise NotYet("attention with rotary embedding inside, or with a shared cache")
    whole = weights.shape[1]
    sizes = qkv_hidden_sizes or (whole // 3,) * 3
    made = ops.matmul(x, weights)
    q, k, v = ops.split(made if bias is None else ops.add(made, bias), sizes, 2)
    pair = (None, None) if past is None else (ops.select(past, 0, 0), ops.select(past, 0, 1))
    found, keys, values = multi_head_attention(
        q, k, v, None, mask, attention_bias, *pair, mask_filter_value=mask_filter_value,
        num_heads=num_heads, scale=scale, unidirectional=unidirectional,
    )  # fmt: skip
    return found, ops.stack((keys, values), 0)


@microsoft("GroupQueryAttention")
def group_query_attention(
    q: Tensor, k: Tensor | None, v: Tensor | None, past_key: Tensor | None,
    past_value: Tensor | None, lengths: Tensor, total_length: Tensor,
    cos: Tensor | None = None, sin: Tensor | None = None, position_ids: Tensor | None = None,
    attention_bias: Tensor | None = None, *,
    do_rotary: int = 0, kv_num_heads: int, local_window_size: int = -1, num_heads: int,
    rotary_interleaved: int = 0, scale: float = 0.0, smooth_softmax: int = 0,
    softcap: float = 0.0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Causal attention whose heads of k and v serve several of q, then all keys and values.

    `lengths` are the keys of each sample less one: where a sample's cache ends its new rows follow.
    """
    if smooth_softmax:
        raise NotYet("smooth softmax")
    if k is None or v is None:
        width = q.shape[-1]
        size = width // (num_heads + 2 * kv_num_heads)
        sizes = (num_heads * size, kv_num_heads * size, kv_num_heads * size)
        q, k, v = ops.split(q, sizes, 2)
    q, keys, values = heads(q, num_heads), heads(k, kv_num_heads), heads(v, kv_num_heads)
    rows = q.shape[2]
    start: Size | Tensor = 0 if past_key is None else cached(lengths, rows)
    if do_rotary and cos is not None and sin is not None:
        where = position_ids
        if where is None:
            each_row = ops.reshape(ops.iota(rows, device=q.device), (1, -1))
            first = ops.reshape(start, (-1, 1)) if isinstance(start, Tensor) else start
            where = ops.add(each_row, first)
        c, d = (ops.unsqueeze(ops.embedding(each, where), 1) for each in (cos, sin))
        is_paired = bool(rotary_interleaved)
        q, keys = (rotated(each, c, d, 0, is_paired) for each in (q, keys))
    if past_key is not None and past_value is not None:
        assert isinstance(start, Tensor)
        keys, values = continued(past_key, keys, start), continued(past_value, values, start)
    left = local_window_size - 1 if local_window_size > 0 else -1
    masks = Masks(attention_bias, True, left, -1, start, None)
    found = attended(q, keys, values, masks, scale or default_scale(q), softcap)
    return packed(found), keys, values


def cached(lengths: Tensor, rows: Size) -> Tensor:
    """How many rows of the cache each sample has: [batch, 1, 1, 1]."""
    found = ops.add(ops.cast(ops.reshape(lengths, (-1, 1, 1, 1)), i64), 1)
    return ops.maximum(ops.subtract(found, rows), 0)


def continued(past: Tensor, fresh: Tensor, start: Tensor) -> Tensor:
    """The first `start` rows of a sample's cache, its new rows, and then rows without meaning."""
    both = ops.concat((past, fresh), 2)
    row = ops.reshape(ops.iota(both.shape[2], dtype=i64, device=past.device), (1, 1, -1, 1))
    moved = ops.add(ops.subtract(row, start), past.shape[2])
    last = ops.subtract(ops.size_value(both.shape[2], i64, device=past.device), 1)
    place = ops.where(ops.less(row, start), row, ops.minimum(moved, last))
    return ops.gather(both, 2, ops.expand(place, both.shape))
