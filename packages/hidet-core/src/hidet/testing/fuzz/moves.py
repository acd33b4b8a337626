"""Operators that move elements, leave some out, or repeat them."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet.testing.fuzz.pool import Pool, Unfit


def reshaped(pool: Pool) -> list[Tensor]:
    """The same elements in order, under another shape."""
    x = pool.pick()
    match pool.random.randrange(5):
        case 0:
            return [ops.reshape(x, (-1,))]
        case 1:
            return [ops.unsqueeze(x, pool.random.randint(0, x.ndim))]
        case 2:
            return [ops.squeeze(x)]
        case 3 if x.ndim >= 2:
            first = pool.random.randrange(x.ndim - 1)
            return [ops.flatten(x, first, first + 1)]
    axis = pool.known_axis(x, 2)
    size = x.shape[axis]
    assert isinstance(size, int)
    factor = pool.random.choice([n for n in range(1, size + 1) if size % n == 0])
    return [ops.reshape(x, (*x.shape[:axis], factor, size // factor, *x.shape[axis + 1 :]))]


def permuted(pool: Pool) -> list[Tensor]:
    """The axes in another order."""
    x = pool.pick(lambda t: t.ndim >= 2)
    if pool.maybe():
        return [ops.transpose(x, *pool.random.sample(range(x.ndim), 2))]
    return [ops.permute(x, pool.random.sample(range(x.ndim), x.ndim))]


def turned(pool: Pool) -> list[Tensor]:
    """Elements in another order along an axis."""
    x = pool.pick(lambda t: t.ndim >= 1)
    axis = pool.known_axis(x)
    size = x.shape[axis]
    assert isinstance(size, int)
    return [ops.flip(x, axis) if pool.maybe() else ops.roll(x, pool.random.randrange(size), axis)]


def sliced(pool: Pool) -> list[Tensor]:
    """Some of the elements along an axis."""
    x = pool.pick(lambda t: t.ndim >= 1)
    axis = pool.known_axis(x, 2)
    size = x.shape[axis]
    assert isinstance(size, int)
    start = pool.random.randrange(size)
    match pool.random.randrange(4):
        case 0:
            return [ops.select(x, axis, start)]
        case 1:
            return [ops.slice(x, axis, 0, None, 2)]
        case 2:
            return [ops.sliding(x, axis, pool.random.randint(1, size), pool.random.randint(1, 2))]
    return [ops.slice(x, axis, start, pool.random.randint(start + 1, size))]


def divided(pool: Pool) -> list[Tensor]:
    """An axis in pieces: several results."""
    x = pool.pick(lambda t: t.ndim >= 1)
    axis = pool.known_axis(x, 2)
    size = x.shape[axis]
    assert isinstance(size, int)
    if pool.maybe():
        return list(ops.chunk(x, pool.random.randint(2, min(size, 4)), axis))
    first = pool.random.randint(1, size - 1)
    return list(ops.split(x, [first, size - first], axis))


def joined(pool: Pool) -> list[Tensor]:
    """Tensors one after another along an axis, or along a new one."""
    x = pool.pick(lambda t: t.ndim >= 1)
    axis = pool.axis(x)
    if pool.maybe(0.3):
        return [ops.stack([x, like(pool, x)], pool.random.randint(0, x.ndim))]
    parts = [x, like(pool, x)] + ([x] if pool.maybe(0.3) else [])
    longer = list(x.shape)
    if isinstance(longer[axis], int) and pool.maybe(0.4):
        longer[axis] = pool.size(8)
        parts.append(pool.new(longer, x.dtype))
    pool.random.shuffle(parts)
    return [ops.concat(parts, axis)]


def like(pool: Pool, x: Tensor) -> Tensor:
    """A tensor of the type and shape of another one."""
    if pool.maybe(0.7):
        try:
            return pool.pick(lambda y: y.type == x.type and y is not x)
        except Unfit:
            pass
    return pool.new(x.shape, x.dtype)


def enlarged(pool: Pool) -> list[Tensor]:
    """Elements that come more than once, or have a margin."""
    x = pool.pick()
    match pool.random.randrange(4):
        case 0:
            return [ops.expand(ops.unsqueeze(x, 0), (pool.size(4), *x.shape))]
        case 1 if x.ndim:
            return [ops.tile(x, [pool.random.randint(1, 2) for _ in range(x.ndim)])]
        case 2 if x.ndim:
            return [ops.repeat_interleave(x, 2, pool.axis(x))]
    axis = pool.axis(x)
    widths = [(0, 0)] * x.ndim
    widths[axis] = (pool.random.randint(0, 2), pool.random.randint(0, 2))
    mode = "constant" if pool.maybe(0.7) or not x.dtype.is_float else "replicate"
    return [ops.pad(x, widths, mode)]  # type: ignore[arg-type]


def triangle(pool: Pool) -> list[Tensor]:
    """A part of each matrix, zero elsewhere; or its diagonal."""
    x = pool.pick(lambda t: t.ndim >= 2 and not t.dtype.is_bool)
    match pool.random.randrange(3):
        case 0:
            return [ops.diagonal(x, 0, -2, -1)]
        case 1:
            return [ops.tril(x, pool.random.randint(-1, 1))]
    return [ops.triu(x, pool.random.randint(-1, 1))]


def gathered(pool: Pool) -> list[Tensor]:
    """Elements whose places are data."""
    x = pool.pick(lambda t: t.ndim >= 1)
    axis = pool.known_axis(x)
    size = x.shape[axis]
    assert isinstance(size, int)
    match pool.random.randrange(3):
        case 0:
            shape = list(x.shape)
            shape[axis] = pool.size(8)
            return [ops.gather(x, axis, pool.positions(shape, size))]
        case 1:
            return [ops.index_select(x, axis, pool.positions((pool.size(8),), size))]
    if not isinstance(x.shape[0], int):
        raise Unfit
    return [ops.embedding(x, pool.positions((pool.size(5), pool.size(3)), x.shape[0]))]


def replaced(pool: Pool) -> list[Tensor]:
    """A part of a tensor replaced by another one."""
    x = pool.pick(lambda t: t.ndim >= 1)
    axis = pool.known_axis(x, 2)
    size = x.shape[axis]
    assert isinstance(size, int)
    start = pool.random.randrange(size - 1)
    stop = pool.random.randint(start + 1, size)
    part = pool.new((*x.shape[:axis], stop - start, *x.shape[axis + 1 :]), x.dtype)
    return [ops.slice_scatter(x, part, axis, start, stop)]
