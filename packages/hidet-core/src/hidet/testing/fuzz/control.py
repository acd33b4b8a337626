"""Control flow: branches and iterations of functions that keep a shape, with weights from
outside."""

from __future__ import annotations

from collections.abc import Callable

from hidet import ops
from hidet.graph import Tensor
from hidet.testing.fuzz.contractions import scaled
from hidet.testing.fuzz.pool import Pool, Unfit

Step = Callable[[Tensor], Tensor]
SMOOTH = (ops.tanh, ops.sigmoid, ops.relu, ops.sin)
MOST_ITERATIONS = 5


def branched(pool: Pool) -> list[Tensor]:
    """One of two functions, as integers decide; sometimes a choice within it."""
    x = pool.floats(1, 4)
    then, otherwise = stepping(pool, x), stepping(pool, x)
    if pool.maybe(0.25):
        then = chosen(decided(pool), then, stepping(pool, x))
    made = ops.if_(decided(pool), lambda y: [then(y), y * 0.5], lambda y: [otherwise(y), -y], x)
    return list(made) if pool.maybe() else [made[0]]


def chosen(condition: Tensor, then: Step, otherwise: Step) -> Step:
    """A function that is one of two."""
    return lambda y: ops.if_(condition, then, otherwise, y)


def repeated(pool: Pool) -> list[Tensor]:
    """Iterations of a function: so many, as many as a tensor says, or until one says so."""
    x = pool.floats(1, 4)
    step, other = stepping(pool, x), stepping(pool, x)
    count = pool.random.randint(0, MOST_ITERATIONS)

    def iteration(number: Tensor, y: Tensor) -> tuple[None, list[Tensor], list[Tensor]]:
        is_even = ops.equal(ops.remainder(number, 2), 0)
        return None, [ops.if_(is_even, step, other, y)], [y * 0.5]

    match pool.random.randrange(3):
        case 0:
            trips = ops.sum(pool.positions((2,), 3))
            (last,), (rows,), _ = ops.loop(iteration, [x], trips=trips, most=MOST_ITERATIONS)
            return [last, rows] if pool.maybe() else [last]
        case 1:
            start = ops.sum(pool.positions((2,), 3))
            return counted(step, start, x)
    return list(ops.loop(iteration, [x], trips=count)[0])


def is_below(number: Tensor, y: Tensor) -> Tensor:
    """Whether there are more iterations."""
    return ops.less(number, MOST_ITERATIONS)


def counted(step: Step, start: Tensor, x: Tensor) -> list[Tensor]:
    """Iterations that end by what they count; nobody knows before how many there are."""

    def iteration(number: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return number + 1, step(y)

    return list(ops.while_loop(is_below, iteration, start, x)[1:])


def scanned(pool: Pool) -> list[Tensor]:
    """A state that goes along the first axis, and what it is at each place."""
    x = pool.floats(2, 4)
    state = pool.new(x.shape[1:], x.dtype)
    step = stepping(pool, state)

    def iteration(now: Tensor, row: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        following = step(now) * 0.5 + row
        return [following], [ops.tanh(following)]

    (last,), (rows,) = ops.scan(iteration, [state], [x], reverse=pool.maybe(0.3))
    return [last, rows] if pool.maybe() else [rows]


def stepping(pool: Pool, x: Tensor) -> Step:
    """A function of tensors of this type that gives such tensors; weights are made before."""
    match pool.random.randrange(4):
        case 0 if x.ndim >= 2 and isinstance(x.shape[-1], int):
            size = x.shape[-1]
            weight = pool.new((size, size), x.dtype)
            return lambda y: ops.tanh(scaled(ops.linear(y, weight), size))
        case 1:
            partner = pool.new(x.shape, x.dtype)
            return lambda y: ops.tanh(y) * partner + y * 0.5
        case 2 if x.ndim >= 1:
            return lambda y: ops.softmax(y, -1) + y * 0.5
    function = pool.random.choice(SMOOTH)
    return lambda y: function(y) - y * 0.25


def decided(pool: Pool) -> Tensor:
    """A truth value of integers or truth values alone: rounding never turns it."""
    if pool.maybe():
        return ops.any(pool.mask((2,)))
    found = pool.integer(lambda each: each.ndim <= 1)
    if found.ndim and not isinstance(found.shape[0], int):
        raise Unfit
    return ops.less(ops.sum(found), pool.random.randint(0, 4))


MAKERS = ((2, branched), (2, repeated), (1, scanned))
"""Each with how likely it is."""
