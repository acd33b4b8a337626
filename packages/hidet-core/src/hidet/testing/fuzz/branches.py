"""Ways that part and meet again, and attention with the masks that models make."""

from __future__ import annotations

from collections.abc import Callable

from hidet import ops
from hidet.graph import Tensor
from hidet.testing.fuzz.blocks import heads
from hidet.testing.fuzz.contractions import scaled
from hidet.testing.fuzz.elementwise import partner
from hidet.testing.fuzz.pool import Pool, Unfit, known

Way = Callable[[Tensor], Tensor]


def parted(pool: Pool) -> list[Tensor]:
    """Several functions of one tensor, one after another along an axis: Inception's blocks."""
    x = pool.floats(2, 4)
    axis = 1 if x.ndim > 2 else x.ndim - 1
    ways = pool.random.sample((plain, product, windows, first_half), 2)
    made = [way(pool, x, axis) for way in (*ways, plain)[: pool.random.choice((2, 3))]]
    pool.random.shuffle(made)
    joined = ops.concat(made, axis)
    return [joined, *made] if pool.maybe(0.2) else [joined]


def plain(pool: Pool, x: Tensor, axis: int) -> Tensor:
    """The tensor itself, or a function of each element."""
    return x if pool.maybe(0.3) else pool.random.choice((ops.relu, ops.tanh, ops.square))(x)


def product(pool: Pool, x: Tensor, axis: int) -> Tensor:
    """A layer, or a convolution of one place."""
    channels = x.shape[axis]
    if not isinstance(channels, int):
        raise Unfit
    weight = pool.new((pool.size(8), channels, *[1] * (x.ndim - 2)), x.dtype)
    return scaled(ops.conv(x, weight) if x.ndim > 2 else ops.linear(x, weight), channels)


def windows(pool: Pool, x: Tensor, axis: int) -> Tensor:
    """The largest of each window, of as many as there are elements; or a softmax."""
    return ops.max_pool(x, 3, stride=1, padding=1) if x.ndim > 2 else ops.softmax(x, axis)


def first_half(pool: Pool, x: Tensor, axis: int) -> Tensor:
    """A part of the tensor, moved on."""
    size = x.shape[axis]
    if not isinstance(size, int):
        raise Unfit
    return ops.sigmoid(ops.slice(x, axis, 0, (size + 1) // 2))


def stream(pool: Pool) -> list[Tensor]:
    """A sum that goes on, and a layer of a function of it: blocks that begin with a norm."""
    x = pool.floats(2, 4)
    axis = 1 if x.ndim > 2 else x.ndim - 1
    first = product(pool, x, axis)
    total = first + partner(pool, first) if pool.maybe(0.8) else first
    channels = total.shape[axis]
    if total.shape != first.shape or not isinstance(channels, int):
        raise Unfit
    row = pool.new((channels, *[1] * (total.ndim - 1 - axis)), total.dtype)
    inner = pool.random.choice((ops.relu, ops.gelu, ops.silu))(total * row)
    match pool.random.randrange(4):
        case 0:
            return [total, inner]
        case 1:
            return [total, ops.cast(total, "float32"), inner]
    second = product(pool, inner, axis)
    return [total + second] if second.shape == total.shape else [total, second]


def masked_attention(pool: Pool) -> list[Tensor]:
    """Attention where some keys are padding, or further away than a window, or weigh less."""
    shared = pool.random.choice((1, 2))
    q, k, v = heads(pool, shared)
    batch, m, n = q.shape[0], known(q.shape[-2], pool.sizes), known(k.shape[-2], pool.sizes)
    match pool.random.randrange(3):
        case 0:
            keys = ops.unsqueeze(pool.mask((batch, 1, n)), 1)
            first = ops.equal(ops.arange(0, n, device=pool.device), 0)
            mask = ops.expand(ops.logical_or(keys, first), (batch, 1, m, n))
        case 1:
            mask = ops.less(distance(pool, m, n), pool.random.choice((2, 5, 20)))
        case _:
            mask = ops.cast(distance(pool, m, n), q.dtype) * -0.25
    if shared > 1 and pool.maybe():
        k, v = (ops.repeat_interleave(each, shared, 1) for each in (k, v))
    if pool.maybe():
        return [ops.attention(q, k, v, mask)]
    if k.shape[1] != q.shape[1]:
        raise Unfit
    scores = ops.matmul(q, k, transpose_b=True) * 0.5
    masked = ops.where(mask, scores, -30.0) if mask.dtype.is_bool else scores + mask
    return [ops.matmul(ops.softmax(masked, -1), v)]


def distance(pool: Pool, m: int, n: int) -> Tensor:
    """How far each of n keys is from each of m queries; a key that is past the last from it."""
    rows = ops.unsqueeze(ops.minimum(ops.arange(0, m, device=pool.device), n - 1), 1)
    return ops.absolute(rows - ops.arange(0, n, device=pool.device))


def measured(pool: Pool) -> list[Tensor]:
    """Lengths along axes, moments, and norms of each example's channels."""
    x = pool.floats(1)
    axis = pool.axis(x)
    match pool.random.randrange(4):
        case 0:
            return [ops.norm(x, pool.random.choice((1, 2, float("inf"))), axis)]
        case 1:
            return [x / (ops.norm(x, 2, axis, keepdims=True) + 0.25)]
        case 2 if x.ndim >= 3:
            return [ops.instance_norm(x, eps=1e-2)]
    return list(ops.moments(x, (axis,), 0.01))
