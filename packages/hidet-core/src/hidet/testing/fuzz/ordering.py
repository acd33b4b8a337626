"""Elements by rank, along the way of an axis, and written at places that are data."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet.testing.fuzz.elementwise import partner, swapped
from hidet.testing.fuzz.pool import Pool

RULES = ("set_last", "add", "mul", "min", "max")
JUMPING = (ops.fmod, ops.remainder, ops.floor_divide, ops.trunc_divide)


def results_of(pool: Pool, x: Tensor, values: Tensor, places: Tensor) -> list[Tensor]:
    """Values with their places, or without where rounding may have decided those."""
    return [values] if x in pool.values.rounded else [values, places]


def ranked(pool: Pool) -> list[Tensor]:
    """An axis sorted, or the first few of it."""
    x = pool.floats(1)
    axis, backwards = pool.known_axis(x), pool.maybe()
    if pool.maybe():
        return results_of(pool, x, *ops.sort(x, axis, descending=backwards))
    size = x.shape[axis]
    assert isinstance(size, int)
    return results_of(pool, x, *ops.topk(x, pool.random.randint(1, size), axis, largest=backwards))


def running(pool: Pool) -> list[Tensor]:
    """Running extremes and products."""
    x = pool.floats(1)
    axis = pool.axis(x)
    if pool.maybe(0.3):
        return [ops.cumprod(ops.tanh(x), axis)]
    return results_of(pool, x, *pool.random.choice((ops.cummax, ops.cummin))(x, axis))


def scattered(pool: Pool) -> list[Tensor]:
    """Elements put, or combined with those that are there, where integers say."""
    x = pool.floats(1)
    axis = pool.known_axis(x)
    size = x.shape[axis]
    assert isinstance(size, int)
    count = pool.size(8)
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    source = pool.new(shape, x.dtype)
    if pool.maybe(0.3):
        return [ops.index_add(x, axis, pool.positions((count,), size), source)]
    where: list[Tensor | None] = [None] * axis
    if pool.maybe(0.3):
        accumulate = pool.maybe()
        places = [*where, pool.positions((count,), size)]
        return [ops.index_put(x, places, source, accumulate=accumulate)]
    index = pool.positions(shape, size)
    return [ops.scatter(x, axis, index, source, pool.random.choice(RULES))]  # type: ignore[arg-type]


def jumping(pool: Pool) -> list[Tensor]:
    """Division with a rest, of values that hold no rounding: that would decide which."""
    x = pool.precise()
    y = partner(pool, x)
    if y in pool.values.rounded:
        return []
    if pool.maybe(0.3):
        return [ops.copysign(*swapped(pool, x, y))]
    return [pool.random.choice(JUMPING)(x, ops.absolute(y) + 0.75)]


def counted(pool: Pool) -> list[Tensor]:
    """Integers as the places of ones."""
    x = pool.integer()
    values = pool.values.exact[x]
    if not values.size or values.min() < 0:
        return []
    return [ops.one_hot(x, int(values.max()) + 1)]
