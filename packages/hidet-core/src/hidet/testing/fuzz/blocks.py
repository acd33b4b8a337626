"""Reductions and norms, and the blocks that models are made of."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet.testing.fuzz.contractions import scaled
from hidet.testing.fuzz.elementwise import partner
from hidet.testing.fuzz.pool import Pool, Unfit

SUMS = (ops.sum, ops.mean, ops.max, ops.min, ops.mean, ops.logsumexp, ops.prod)
SPREADS = (ops.var, ops.std)


def reduced(pool: Pool) -> list[Tensor]:
    """A reduction over some axes."""
    x = pool.floats(1)
    axes = sorted(pool.random.sample(range(x.ndim), pool.random.choice((1, 1, min(2, x.ndim)))))
    keep = pool.maybe()
    if pool.maybe(0.2):
        return [pool.random.choice(SPREADS)(x, axes, correction=0, keepdims=keep)]
    return [pool.random.choice(SUMS)(x, axes, keepdims=keep)]


def deviation(pool: Pool) -> list[Tensor]:
    """Elements beside a reduction of them: what norms are spelled as."""
    x = pool.floats(1)
    axis = pool.axis(x)
    kind = pool.random.choice((ops.mean, ops.max, ops.sum))
    centred = x - kind(x, axis, keepdims=True)
    if pool.maybe():
        return [centred]
    spread = ops.mean(ops.square(centred), axis, keepdims=True)
    return [centred * ops.rsqrt(spread + 0.01)]


def decided(pool: Pool) -> list[Tensor]:
    """Reductions to places and truth values, and sums of integers."""
    match pool.random.randrange(3):
        case 0:
            x = pool.precise(1)
            return [pool.random.choice((ops.argmax, ops.argmin))(x, pool.axis(x))]
        case 1:
            x = pool.pick(lambda t: t.dtype.is_bool and t.ndim >= 1)
            return [pool.random.choice((ops.any, ops.all))(x, pool.axis(x))]
    x = pool.integer(lambda t: t.ndim >= 1)
    return [pool.random.choice((ops.sum, ops.max, ops.min))(x, pool.axis(x))]


def soft(pool: Pool) -> list[Tensor]:
    """A softmax, after a scale and a mask perhaps."""
    x = pool.floats(1)
    axis = -1 if pool.maybe(0.7) else pool.axis(x)
    if pool.maybe(0.3):
        x = x * 0.5
    if pool.maybe(0.2):
        x = ops.where(pool.mask(x.shape[-1:]), x, -4.0)
    return [(ops.log_softmax if pool.maybe(0.2) else ops.softmax)(x, axis)]


def running(pool: Pool) -> list[Tensor]:
    """A running sum."""
    x = pool.floats(1)
    return [ops.cumsum(x, pool.axis(x)) * 0.25]


def normed(pool: Pool) -> list[Tensor]:
    """A norm, perhaps of a sum that is used besides."""
    x = pool.floats(1)
    if pool.maybe(0.3):
        x = x + partner(pool, x)
    weight = pool.new(x.shape[-1:], x.dtype) if pool.maybe(0.7) else None
    match pool.random.randrange(4):
        case 0 if weight is not None:
            return [x, ops.layer_norm(x, weight, pool.new(x.shape[-1:], x.dtype), eps=1e-3)]
        case 1:
            return [x, ops.rms_norm(x, weight, eps=1e-3)]
        case 2:
            return [x, channel_norm(pool, x)]
    return [ops.layer_norm(x, weight, eps=1e-3)]


def channel_norm(pool: Pool, x: Tensor) -> Tensor:
    """A norm of each channel, or of groups of them."""
    if x.ndim < 3 or not isinstance(x.shape[1], int):
        raise Unfit
    channels = x.shape[1]
    weight, bias = pool.new((channels,), x.dtype), pool.new((channels,), x.dtype)
    if pool.maybe():
        groups = pool.random.choice([g for g in range(1, channels + 1) if channels % g == 0])
        return ops.group_norm(x, groups, weight, bias, eps=1e-3)
    mean, var = pool.new((channels,), x.dtype), pool.new((channels,), x.dtype)
    return ops.batch_norm(x, mean, ops.square(var) + 0.5, weight, bias)


def spelled_attention(pool: Pool) -> list[Tensor]:
    """softmax(q @ k^T * scale + mask) @ v, one step after the other."""
    q, k, v = heads(pool, 1)
    scores = ops.matmul(q, k, transpose_b=True) * pool.random.choice((8**-0.5, 0.5))
    if pool.maybe():
        scores = scores + pool.new((q.shape[-2], k.shape[-2]), q.dtype)
    return [ops.matmul(ops.softmax(scores, -1), v)]


def whole_attention(pool: Pool) -> list[Tensor]:
    """Attention as one operator, with fewer heads of k and v than of q too."""
    q, k, v = heads(pool, pool.random.choice((1, 2)))
    mask = None
    if pool.maybe(0.4):
        mask = pool.new((q.shape[-2], k.shape[-2]), q.dtype)
    return [ops.attention(q, k, v, mask, causal=pool.maybe(0.3))]


def heads(pool: Pool, shared: int) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v as a layer makes them of one tensor, or as new inputs."""
    batch, count, m, n, d = pool.size(2), pool.size(2) * shared, pool.size(17), pool.size(17), 8
    if pool.maybe():
        x = pool.new((batch, m, 16))
        made = []
        for number in (count, count // shared, count // shared):
            y = scaled(ops.linear(x, pool.new((number * d, 16))), 16)
            made.append(ops.transpose(ops.reshape(y, (batch, m, number, d)), 1, 2))
        return made[0], made[1], made[2]
    q = pool.new((batch, count, m, d))
    return q, pool.new((batch, count // shared, n, d)), pool.new((batch, count // shared, n, d))


def gated(pool: Pool) -> list[Tensor]:
    """act(x @ w1) * (x @ w2), projected back and added perhaps."""
    x = pool.floats(2, 4)
    k, n = x.shape[-1], pool.size(17)
    up = scaled(ops.linear(x, pool.new((n, k), x.dtype)), k)
    gate = scaled(ops.linear(x, pool.new((n, k), x.dtype)), k)
    hidden = pool.random.choice((ops.silu, ops.gelu, ops.sigmoid))(gate) * up
    if pool.maybe() or not isinstance(k, int):
        return [hidden]
    return [x + scaled(ops.linear(hidden, pool.new((k, n), x.dtype)), n)]


def merged_matmuls(pool: Pool) -> list[Tensor]:
    """Several layers that read one tensor."""
    x = pool.floats(2, 4)
    k = x.shape[-1]
    made = []
    for _ in range(pool.random.randint(2, 3)):
        n = pool.size(17)
        bias = pool.new((n,), x.dtype) if pool.maybe() else None
        made.append(scaled(ops.linear(x, pool.new((n, k), x.dtype), bias), k))
    return made


def rotary(pool: Pool) -> list[Tensor]:
    """Halves of the last axis turned by angles, as positions are encoded."""
    x = pool.floats(2, 4)
    size = x.shape[-1]
    if not isinstance(size, int) or size % 2:
        raise Unfit
    first, second = ops.chunk(x, 2, -1)
    turned = ops.concat([-second, first], -1)
    angle = pool.new(x.shape[-2:], x.dtype)
    return [x * ops.cos(angle) + turned * ops.sin(angle)]


def convolved(pool: Pool) -> list[Tensor]:
    """Convolution, batch norm, activation, and a shortcut around them."""
    x = pool.floats(4, 4)
    channels = x.shape[1]
    if not isinstance(channels, int):
        raise Unfit
    weight = pool.new((channels, channels, 3, 3), x.dtype)
    y = scaled(ops.conv2d(x, weight, padding=1), channels * 9)
    stats = [pool.new((channels,), x.dtype) for _ in range(4)]
    y = ops.batch_norm(y, stats[0], ops.square(stats[1]) + 0.5, stats[2], stats[3])
    return [ops.relu(x + y) if pool.maybe() else ops.silu(y)]


def windowed(pool: Pool) -> list[Tensor]:
    """Means, squares and products of two images under a window, as image similarity has them: each
    of several depthwise convolutions reads a function of both, their channels last perhaps."""
    x = pool.floats(4, 4)
    channels = x.shape[1]
    if not isinstance(channels, int):
        raise Unfit
    y = pool.random.choice((ops.flip(x, 2), partner(pool, x), x * 0.5))
    size, last = pool.random.choice((3, 11)), pool.maybe()
    weight = pool.new((channels, 1, size, size), x.dtype)
    if last:
        x, y = (ops.permute(each, (0, 2, 3, 1)) for each in (x, y))

    def mean(of: Tensor) -> Tensor:
        images = ops.permute(of, (0, 3, 1, 2)) if last else of
        found: Tensor = ops.conv(images, weight, padding=size // 2, groups=channels) / size
        return ops.permute(found, (0, 2, 3, 1)) if last else found

    made = [mean(x), mean(y), mean(x * y), mean(x * x + y * y)]
    return [made[0] * made[1] + made[2] + made[3]] if pool.maybe() else made
