"""Attention, norms and gated layers in the many ways that models spell them."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet.testing.fuzz.blocks import heads
from hidet.testing.fuzz.contractions import scaled
from hidet.testing.fuzz.elementwise import partner
from hidet.testing.fuzz.pool import Pool, Unfit, known
from hidet.types import Size


def attention(pool: Pool) -> list[Tensor]:
    """Two products and a softmax, with other steps and other axes between them."""
    q, k, v = heads(pool, 1)
    lead = tuple(q.shape[:-2])
    if pool.maybe(0.3):
        k, v = (ops.expand(ops.slice(each, 1, 0, 1), each.shape) for each in (k, v))
    flat = pool.maybe()
    if flat:
        q, k, v = (merged(each) for each in (q, k, v))
    if pool.maybe(0.2):
        scores = ops.matmul(ops.transpose(q), ops.transpose(k), transpose_a=True)
    else:
        scores = ops.matmul(q, k, transpose_b=True)
    if flat and pool.maybe(0.7):
        scores = ops.reshape(scores, (*lead, *scores.shape[-2:]))
    for _ in range(pool.random.randint(1, 4)):
        scores = stepped(pool, scores)
    weights = ops.softmax(scores, -1)
    if flat:
        weights = merged(weights) if weights.ndim == 4 else weights
    if pool.maybe(0.2):
        return [ops.matmul(ops.transpose(v), weights, transpose_b=True)]
    return [ops.matmul(weights, v)]


def merged(x: Tensor) -> Tensor:
    """Batch and heads as one axis."""
    return ops.reshape(x, (-1, *x.shape[-2:]))


def stepped(pool: Pool, scores: Tensor) -> Tensor:
    """Scores that are scaled, or masked."""
    shape = spread(pool, scores.shape)
    match pool.random.randrange(4):
        case 0:
            return ops.multiply(scores, pool.random.choice((0.3, 0.5, 1.5)))
        case 1:
            return ops.add(scores, pool.new(shape, scores.dtype))
        case 2:
            factor = ops.sigmoid(pool.new((*shape[:-1], 1), scores.dtype))
            return ops.multiply(scores, factor)
    kept = ops.logical_or(pool.mask(shape), first_key(pool, scores))
    return ops.where(kept, scores, pool.random.choice((-3e4, float("-inf"))))


def first_key(pool: Pool, scores: Tensor) -> Tensor:
    """A mask that keeps the first key: a row that keeps nothing has no one right result."""
    count = known(scores.shape[-1], pool.sizes)
    return ops.equal(ops.arange(0, count, device=pool.device), 0)


def spread(pool: Pool, shape: tuple[Size, ...]) -> tuple[Size, ...]:
    """A shape that broadcasts to another one, with all of its last axis."""
    found = [1 if pool.maybe() else size for size in shape[:-1]]
    return (*found[pool.random.randint(0, len(found)) :], shape[-1])


def norm(pool: Pool) -> list[Tensor]:
    """Statistics of rows or columns and what reads these again, after a sum and before a norm."""
    x = pool.floats(2)
    axis = x.ndim - 1 if pool.maybe(0.7) else pool.axis(x)
    total = x + partner(pool, x) if pool.maybe(0.4) else x
    made = statistic(pool, total, axis)
    if pool.maybe(0.3):
        made = ops.rms_norm(made + x if pool.maybe() else made, eps=1e-2)
    return [made] if total is x else [total, made]


def statistic(pool: Pool, x: Tensor, axis: int) -> Tensor:
    """A tensor divided by its size, or less its mean, or its share."""
    match pool.random.randrange(5):
        case 0:
            mean = ops.mean(ops.square(x), axis, keepdims=True)
            return ops.multiply(x, ops.rsqrt(mean + 0.05))
        case 1:
            root = ops.sqrt(ops.var(x, axis, correction=0, keepdims=True) + 0.05)
            return ops.divide(x - ops.mean(x, axis, keepdims=True), root)
        case 2:
            return ops.subtract(x, ops.logsumexp(x, axis, keepdims=True))
        case 3:
            size = ops.norm(x, 2, axis, keepdims=True) + 0.25
            return ops.divide(x, ops.expand(size, x.shape))
    powers = ops.exp(x - ops.max(x, axis, keepdims=True))
    return ops.divide(powers, ops.sum(powers, axis, keepdims=True))


def gated(pool: Pool) -> list[Tensor]:
    """The halves of one layer, or two layers, of which one is read twice."""
    x = pool.floats(2, 4)
    k, n = x.shape[-1], pool.size(17)
    if not isinstance(k, int):
        raise Unfit
    if pool.maybe(0.7):
        bias = pool.new((2 * n,), x.dtype) if pool.maybe() else None
        whole = scaled(ops.linear(x, pool.new((2 * n, k), x.dtype), bias), k)
        gate, up = ops.chunk(whole, 2, -1)
    else:
        gate, up = (scaled(ops.linear(x, pool.new((n, k), x.dtype)), k) for _ in range(2))
    match pool.random.randrange(3):
        case 0:
            return [gate * ops.sigmoid(gate) * up]
        case 1:
            return [up * ops.square(ops.relu(gate))]
    return [(ops.clamp(up, -2.0, 2.0) + 1.0) * ops.gelu(gate)]
