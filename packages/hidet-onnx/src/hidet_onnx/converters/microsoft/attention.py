"""Attention of as many heads of keys as of queries, in ONNX Runtime's own domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hidet import ops
from hidet.compute.sizes import tidy
from hidet.errors import BadArgument, NotYet
from hidet.graph import Tensor
from hidet.types import Size, i64
from hidet_onnx.converters.attention import (
    Masks,
    attended,
    default_scale,
    heads,
    packed,
    scores_of,
)
from hidet_onnx.converters.here import here
from hidet_onnx.converters.microsoft.caches import data_sizes, written
from hidet_onnx.converters.microsoft.masks import kept_keys, with_padding
from hidet_onnx.converters.table import microsoft


@microsoft("MultiHeadAttention")
def multi_head_attention(
    q: Tensor, k: Tensor | None = None, v: Tensor | None = None, bias: Tensor | None = None,
    key_padding_mask: Tensor | None = None, attention_bias: Tensor | None = None,
    past_key: Tensor | None = None, past_value: Tensor | None = None,
    past_sequence_length: Tensor | None = None, cache_indirection: Tensor | None = None, *,
    mask_filter_value: float = -10000.0, num_heads: int, scale: float = 0.0,
    unidirectional: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Attention of q, k and v [batch, rows, heads * size], all keys, all values, and the scores.

    q may be all three [batch, rows, heads, 3, size], k both others [batch, rows, heads, 2, size].
    Keys and values [batch, heads, rows, size] are taken as they are, without the bias. A cache
    whose length is given stays as long as it is, and gets the new rows.
    """
    if cache_indirection is not None:
        raise NotYet("a cache of beams")
    three = apart(q, k, v, bias, num_heads)
    known = Known(mask_filter_value, scale, bool(unidirectional), key_padding_mask, attention_bias)
    return known.attention(*three, past_key, past_value, past_sequence_length)


@microsoft("DecoderMaskedMultiHeadAttention")
def decoder_masked_multi_head_attention(
    q: Tensor, k: Tensor | None = None, v: Tensor | None = None, mask: Tensor | None = None,
    attention_bias: Tensor | None = None, past_key: Tensor | None = None,
    past_value: Tensor | None = None, past_sequence_length: Tensor | None = None,
    beam_width: Tensor | None = None, cache_indirection: Tensor | None = None,
    bias: Tensor | None = None, *,
    mask_filter_value: float = -10000.0, num_heads: int, output_qk: int = 0,
    past_present_share_buffer: int = 0, scale: float = 0.0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Attention of one token of each sample, whose keys and values are added to a cache."""
    if past_present_share_buffer and past_key is not None and past_sequence_length is None:
        raise BadArgument("a shared cache needs past_sequence_length")
    if cache_indirection is not None:
        raise NotYet("a cache of beams")
    length = past_sequence_length if past_present_share_buffer else None
    if k is None:  # q, k and v of all heads, one after the other
        q, k, v = ops.chunk(q, 3, 2)
    three = apart(q, k, v, bias, num_heads)
    known = Known(mask_filter_value, scale, False, mask, attention_bias)
    return known.attention(*three, past_key, past_value, length)


@microsoft("Attention")
def attention_of_one(
    x: Tensor, weights: Tensor, bias: Tensor | None = None, mask: Tensor | None = None,
    past: Tensor | None = None, attention_bias: Tensor | None = None,
    past_length: Tensor | None = None, *,
    do_rotary: int = 0, mask_filter_value: float = -10000.0, num_heads: int,
    past_present_share_buffer: int = 0, qkv_hidden_sizes: Sequence[int] | None = None,
    rotary_embedding_dim: int = 0, scale: float = 0.0, unidirectional: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Attention of q, k and v that one matmul makes of x, then keys and values of all rows."""
    if do_rotary:
        raise NotYet("attention with rotary embedding inside")
    if past_present_share_buffer and past_length is None:
        raise BadArgument("a shared cache needs past_sequence_length")
    made = ops.matmul(x, weights)
    made = made if bias is None else ops.add(made, bias)
    known = Known(mask_filter_value, scale, bool(unidirectional), mask, attention_bias)
    return known.of_projection(made, past, qkv_hidden_sizes, num_heads, past_length)


@microsoft("PackedAttention")
def packed_attention(
    x: Tensor, weights: Tensor, bias: Tensor, token_offset: Tensor, ends: Tensor,
    attention_bias: Tensor | None = None, *,
    num_heads: int, qkv_hidden_sizes: Sequence[int] | None = None, scale: float = 0.0,
) -> Tensor:  # fmt: skip
    """Attention of samples whose rows x[tokens, width] follow each other without padding.

    The first of `token_offset` [batch, rows] say where each row is in padded samples, `ends`
    [batch + 1] how many rows come before each sample.
    """
    batch, rows = token_offset.shape
    made = ops.add(ops.matmul(x, weights), bias)
    place = ops.slice(ops.flatten(token_offset), 0, 0, x.shape[0])
    wide = ops.zeros((tidy(batch * rows), made.shape[1]), made.dtype, device=made.device)
    index = ops.expand(ops.unsqueeze(place, 1), made.shape)
    padded = ops.reshape(ops.scatter(wide, 0, index, made, "set_one"), (batch, rows, -1))
    lengths = ops.subtract(ops.slice(ends, 0, 1), ops.slice(ends, 0, 0, batch))
    known = Known(-10000.0, scale, False, lengths, attention_bias)
    found, *_ = known.of_projection(padded, None, qkv_hidden_sizes, num_heads, None)
    return ops.embedding(ops.flatten(found, 0, 1), place)


def apart(
    q: Tensor, k: Tensor | None, v: Tensor | None, bias: Tensor | None, count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v as [batch, heads, rows, size], with their parts of the bias."""
    if q.ndim == 5:
        q, k, v = (ops.flatten(ops.select(q, 3, each), 2, 3) for each in range(3))
    elif k is not None and k.ndim == 5:
        k, v = (ops.flatten(ops.select(k, 3, each), 2, 3) for each in range(2))
    if k is None or v is None:
        raise BadArgument("attention has neither keys and values nor all in one tensor of 5 axes")
    if bias is not None:
        width = q.shape[-1]
        of_q, of_k, of_v = ops.split(bias, [width, width, tidy(bias.shape[0] - 2 * width)], 0)
        q = ops.add(q, of_q)
        k = k if k.ndim == 4 else ops.add(k, of_k)
        v = v if v.ndim == 4 else ops.add(v, of_v)
    q, k, v = (each if each.ndim == 4 else heads(each, count) for each in (q, k, v))
    return q, k, v


@dataclass(frozen=True)
class Known:
    """What an attention of this domain says beside q, k and v."""

    filter_value: float
    scale: float
    causal: bool
    mask: Tensor | None
    bias: Tensor | None

    def of_projection(
        self, made: Tensor, past: Tensor | None, sizes: Sequence[int] | None, count: int,
        length: Tensor | None,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """Attention of q, k and v side by side, and a cache [2, batch, heads, rows, size]."""
        width = made.shape[2]
        parts = ops.split(made, sizes or (width // 3,) * 3, 2)
        q, k, v = (heads(each, count) for each in parts)
        former = [None if past is None else ops.select(past, 0, each) for each in (0, 1)]
        found, keys, values, *_ = self.attention(q, k, v, former[0], former[1], length)
        return (found, ops.stack((keys, values), 0)) if here().reads(1) else (found,)

    def attention(
        self, q: Tensor, k: Tensor, v: Tensor, past_key: Tensor | None,
        past_value: Tensor | None, length: Tensor | None,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """Attention of q, k and v [batch, heads, rows, size], all keys, all values, the scores."""
        past: Size | Tensor = 0
        keys, values = k, v
        if past_key is not None and past_value is not None and length is not None:
            past = ops.reshape(ops.cast(length, i64), (1, 1, 1, 1))
            total = tidy(data_sizes(length) + k.shape[2])
            k = written(past_key, k, past, past_key.shape[2])
            v = written(past_value, v, past, past_value.shape[2])
            keys, values = (ops.slice(each, 2, 0, total) for each in (k, v))
        elif past_key is not None and past_value is not None:
            past = past_key.shape[2]
            k, v = ops.concat((past_key, k), 2), ops.concat((past_value, v), 2)
            keys, values = k, v
        batch, _, rows, _ = q.shape
        kept = None if self.mask is None else kept_keys(self.mask, batch, rows, keys.shape[2], past)
        given = with_padding(self.bias, kept, self.filter_value, q.dtype)
        masks = Masks(given, self.causal, -1, -1, past, None)
        factor = self.scale or default_scale(q)
        found = packed(attended(q, keys, values, masks, factor, 0.0))
        if not here().reads(3):
            return found, k, v
        return found, k, v, scores_of(q, keys, masks, factor, 0.0, 2)
