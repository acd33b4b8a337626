"""Attention with its masks and caches, and what goes with it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hidet import ops
from hidet.compute.sizes import tidy
from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet.types import DType, Size, boolean, f32, f64, i64
from hidet_onnx.converters.here import here
from hidet_onnx.converters.subgraph import Subgraph
from hidet_onnx.converters.table import onnx, preview
from hidet_onnx.dtypes import element, spelled

INFINITE = float("-inf")


@dataclass(frozen=True)
class Masks:
    """What keeps a query from a key; `past` is how many keys come before the first query's own."""

    given: Tensor | None
    causal: bool
    left: int
    right: int
    past: Size | Tensor
    """A size, or that of each sample: [batch, 1, 1, 1]."""
    valid: Tensor | None
    """How many keys of each sample there are."""

    @property
    def is_plain(self) -> bool:
        """Whether all is said by a causal mask, or none, beside the one given."""
        starts = isinstance(self.past, int) and self.past == 0
        return self.left < 0 and self.right < 0 and self.valid is None and (
            not self.causal or (starts and self.given is None)
        )  # fmt: skip

    def allowed(self, queries: Size, keys: Size, device: str) -> Tensor | None:
        """Where positions let a query see a key: [queries, keys] or [batch, 1, queries, keys]."""
        row = ops.reshape(ops.iota(queries, device=device), (-1, 1))
        column = ops.iota(keys, device=device)
        place = ops.add(row, self.past)
        found = []
        if self.causal:
            found.append(ops.less_equal(column, place))
        if self.left >= 0:
            found.append(ops.greater_equal(column, ops.subtract(place, self.left)))
        if self.right >= 0:
            found.append(ops.less_equal(column, ops.add(place, self.right)))
        if self.valid is not None:
            count = ops.reshape(ops.cast(self.valid, i64), (-1, 1, 1, 1))
            found.append(ops.less(column, count))
        every: Tensor | None = None
        for each in found:
            every = each if every is None else ops.logical_and(every, each)
        return every

    def combined(self, queries: Size, keys: Size, like: Tensor) -> Tensor | None:
        """One mask: bool where it keeps, or a float that is added."""
        mask = None if self.given is None else widened(self.given, keys)
        allowed = self.allowed(queries, keys, like.device)
        if allowed is None or mask is None:
            return mask if allowed is None else allowed
        if mask.dtype is boolean:
            return ops.logical_and(mask, allowed)
        return ops.cast(ops.where(allowed, mask, INFINITE), mask.dtype)


def widened(mask: Tensor, keys: Size) -> Tensor:
    """A mask for all keys: those that it does not name are masked."""
    missing = tidy(keys - mask.shape[-1])
    if isinstance(missing, int) and missing <= 0:
        return mask
    widths: list[tuple[Size, Size]] = [(0, 0)] * mask.ndim
    widths[-1] = (0, missing)
    return ops.pad(mask, widths, value=0 if mask.dtype is boolean else INFINITE)


@onnx("Attention", since=23)
def attention(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None,
    past_key: Tensor | None = None, past_value: Tensor | None = None,
    nonpad_kv_seqlen: Tensor | None = None, *,
    is_causal: int = 0, kv_num_heads: int | None = None, left_window_size: int = -1,
    q_num_heads: int | None = None, qk_matmul_output_mode: int = 0,
    right_window_size: int = -1, scale: float | None = None, softcap: float = 0.0,
    softmax_precision: int | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """softmax(q @ k^T * scale + mask) @ v, the caches with k and v, and the scores on the way.

    Softmax is computed in float32 at least, and in float64 if `softmax_precision` asks for it.
    """
    is_packed = q.ndim == 3
    if is_packed:
        if q_num_heads is None or kv_num_heads is None:
            raise BadArgument("Attention of 3-d operands needs q_num_heads and kv_num_heads")
        q, k, v = (
            heads(q, q_num_heads), heads(k, kv_num_heads), heads(v, kv_num_heads)
        )  # fmt: skip
    past: Size | Tensor = 0
    if past_key is not None and past_value is not None:
        past = past_key.shape[2]
        k, v = ops.concat((past_key, k), 2), ops.concat((past_value, v), 2)
    elif nonpad_kv_seqlen is not None:
        valid = ops.reshape(ops.cast(nonpad_kv_seqlen, i64), (-1, 1, 1, 1))
        past = ops.subtract(valid, q.shape[2])
    masks = Masks(
        attn_mask, bool(is_causal), left_window_size, right_window_size, past, nonpad_kv_seqlen
    )
    factor = default_scale(q) if scale is None else scale
    wide = precise(q.dtype, softmax_precision)
    rows, keys, values = (ops.cast(each, wide) for each in (q, k, v))
    found = ops.cast(attended(rows, keys, values, masks, factor, softcap), q.dtype)
    results = (packed(found) if is_packed else found, k, v)
    if not here().reads(3):
        return results
    scores = scores_of(rows, keys, masks, factor, softcap, qk_matmul_output_mode)
    return (*results, ops.cast(scores, q.dtype))


def precise(own: DType, asked: int | None) -> DType:
    """The type in which attention is computed: its own, unless float64 is asked for."""
    found = own if asked is None else element(asked)
    if not found.is_float:
        raise BadArgument(f"softmax_precision is {spelled(asked or 0)}", help="use a float type")
    return f64 if found is f64 else own


def default_scale(q: Tensor) -> float:
    """One over the root of the head size."""
    size = q.shape[3]
    if not isinstance(size, int):
        raise BadArgument(f"the head size {size} is symbolic", help="give the scale")
    return 1 / math.sqrt(size)


def attended(q: Tensor, k: Tensor, v: Tensor, masks: Masks, scale: float, softcap: float) -> Tensor:
    """The rows of v, weighed."""
    steps = capping(softcap)
    if masks.is_plain:
        mask = None if masks.given is None else widened(masks.given, k.shape[2])
        return ops.attention(q, k, v, mask, causal=masks.causal, scale=scale, steps=steps)
    mask = masks.combined(q.shape[2], k.shape[2], q)
    return ops.attention(q, k, v, mask, scale=scale, steps=steps)


def capping(softcap: float) -> tuple[tuple[str, float], ...]:
    """What bounds scores: softcap * tanh(score / softcap)."""
    if not softcap:
        return ()
    return (("multiply", 1 / softcap), ("tanh", 0.0), ("multiply", softcap))


def scores_of(
    q: Tensor, k: Tensor, masks: Masks, scale: float, softcap: float, mode: int
) -> Tensor:
    """The scores: as they are, capped (1), masked (2), or as weights (3)."""
    every = ops.repeat_interleave(k, shared_by(q, k), 1)
    scores = ops.multiply(ops.matmul(q, every, transpose_b=True), scale)
    if mode >= 1 and softcap:
        scores = ops.multiply(ops.tanh(ops.divide(scores, softcap)), softcap)
    if mode < 2:
        return ops.cast(scores, q.dtype)
    mask = masks.combined(q.shape[2], k.shape[2], q)
    if mode == 2:
        if mask is None:
            return ops.cast(scores, q.dtype)
        bias = added(mask, INFINITE, q.dtype) if mask.dtype is boolean else mask
        return ops.cast(ops.add(scores, bias), q.dtype)
    return ops.attention_weights(scores, mask, causal=False, scale=1.0, dtype=q.dtype)


def added(kept: Tensor, value: float, dtype: DType) -> Tensor:
    """A bool mask as one that is added to scores: zero where it keeps, else a number."""
    nothing = ops.zeros(kept.shape, dtype, device=kept.device)
    return ops.masked_fill(nothing, ops.logical_not(kept), value)


def shared_by(q: Tensor, k: Tensor) -> int:
    """How many heads of q each head of k serves."""
    queries, keys = q.shape[1], k.shape[1]
    if not isinstance(queries, int) or not isinstance(keys, int) or queries % keys:
        raise BadArgument(f"{queries} heads of q for {keys} of k")
    return queries // keys


def heads(x: Tensor, count: int) -> Tensor:
    """x[batch, rows, heads * size] as [batch, heads, rows, size]."""
    batch, rows, width = x.shape
    return ops.transpose(ops.reshape(x, (batch, rows, count, width // count)), 1, 2)


def packed(x: Tensor) -> Tensor:
    """x[batch, heads, rows, size] as [batch, rows, heads * size]."""
    batch, count, rows, size = x.shape
    return ops.reshape(ops.transpose(x, 1, 2), (batch, rows, tidy(count * size)))


@onnx("RotaryEmbedding", since=23)
def rotary_embedding(
    x: Tensor, cos: Tensor, sin: Tensor, position_ids: Tensor | None = None, *,
    interleaved: int = 0, num_heads: int | None = None, rotary_embedding_dim: int = 0,
) -> Tensor:  # fmt: skip
    """Pairs of elements of each head turned by the angle of the head's position."""
    is_packed = x.ndim == 3
    if is_packed and not num_heads:
        raise BadArgument("RotaryEmbedding of a 3-d operand needs num_heads")
    apart = heads(x, num_heads or 1) if is_packed else x
    if position_ids is not None:
        cos, sin = ops.embedding(cos, position_ids), ops.embedding(sin, position_ids)
    cos, sin = ops.unsqueeze(cos, 1), ops.unsqueeze(sin, 1)
    found = rotated(apart, cos, sin, rotary_embedding_dim, bool(interleaved))
    return packed(found) if is_packed else found


def rotated(x: Tensor, cos: Tensor, sin: Tensor, size: int, interleaved: bool) -> Tensor:
    """The first `size` elements of each row (0: all) turned, pairs apart or side by side."""
    whole = x.shape[-1]
    turned = ops.slice(x, -1, 0, size) if size else x
    rest = ops.slice(x, -1, size) if size else None
    width = size or whole
    half = width // 2
    if interleaved:
        pairs = ops.reshape(turned, (*turned.shape[:-1], half, 2))
        first, second = ops.select(pairs, -1, 0), ops.select(pairs, -1, 1)
    else:
        first, second = ops.slice(turned, -1, 0, half), ops.slice(turned, -1, half)
    real = ops.subtract(ops.multiply(first, cos), ops.multiply(second, sin))
    imaginary = ops.add(ops.multiply(first, sin), ops.multiply(second, cos))
    if interleaved:
        found = ops.reshape(ops.stack((real, imaginary), -1), turned.shape)
    else:
        found = ops.concat((real, imaginary), -1)
    found = ops.cast(found, x.dtype)
    return found if rest is None else ops.concat((found, rest), -1)


@preview("FlexAttention", since=1)
def flex_attention(
    q: Tensor, k: Tensor, v: Tensor, *, prob_mod: Subgraph | None = None,
    scale: float | None = None, score_mod: Subgraph | None = None,
    softmax_precision: int | None = None,
) -> Tensor:  # fmt: skip
    """Attention whose scores and weights pass through graphs of the model's own."""
    wide = f64 if q.dtype is f64 else f32
    if softmax_precision is not None:
        wide = element(softmax_precision)
    factor = default_scale(q) if scale is None else scale
    count = shared_by(q, k)
    keys, values = (ops.repeat_interleave(each, count, 1) for each in (k, v))
    scores = ops.cast(ops.matmul(ops.multiply(q, factor), keys, transpose_b=True), wide)
    if score_mod is not None:
        (scores,) = score_mod.inline(scores)
    weights = ops.softmax(scores, -1)
    if prob_mod is not None:
        (weights,) = prob_mod.inline(weights)
    return ops.cast(ops.matmul(weights, ops.cast(values, wide)), v.dtype)
