"""Elements that data select: how many there are is known once a call has counted them."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet.testing.fuzz.pool import Pool, Unfit


def rows(pool: Pool) -> list[Tensor]:
    """The rows of a tensor where a mask holds, or as many copies of each as integers say."""
    x = pool.floats(1, 4)
    axis = pool.known_axis(x, 2)
    size = x.shape[axis]
    assert isinstance(size, int)
    if pool.maybe():
        return [ops.repeat_interleave(x, pool.positions((size,), 3), axis)]
    return [ops.compress(x, pool.mask((size,)), axis)]


def elements(pool: Pool) -> list[Tensor]:
    """The elements of a tensor where a mask holds, in a row."""
    x = pool.floats(1, 3)
    return [ops.masked_select(x, pool.mask(x.shape if pool.maybe() else x.shape[-1:]))]


def places(pool: Pool) -> list[Tensor]:
    """Where a mask holds, and the elements that are there."""
    x = pool.floats(1, 3)
    where = ops.nonzero(pool.mask(x.shape))
    if x.ndim == 1:
        return [ops.take(x, [ops.squeeze(where, 1)])]
    found = ops.gather_nd(x, where)
    return [where, found] if pool.maybe(0.3) else [found]


def positive(pool: Pool) -> list[Tensor]:
    """The elements of a tensor that are positive: what selects is computed."""
    x = pool.precise(1)
    if x.ndim > 3:
        raise Unfit
    return [ops.masked_select(x, ops.greater(x, 0.0))]


MAKERS = ((2, rows), (2, elements), (1, places), (2, positive))
"""Each with how likely it is."""
