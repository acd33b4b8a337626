"""Keys and values of former calls, and those of this one after them."""

from __future__ import annotations

from hidet import ops
from hidet.compute.sizes import tidy
from hidet.errors import NeedsValue
from hidet.graph import Tensor
from hidet.graph.known import numbers
from hidet.types import Size, i64


def written(past: Tensor, fresh: Tensor, start: Tensor, rows: Size) -> Tensor:
    """`past` [batch, heads, former rows, size] with `fresh` from row start[batch, 1, 1, 1] on.

    The result has `rows` rows, at least as many as the cache; what is after the new ones is what
    the cache had there, or zero.
    """
    missing = tidy(rows - past.shape[2])
    longer = ops.pad(past, [(0, 0), (0, 0), (0, missing), (0, 0)])
    return ops.tensor_scatter(longer, fresh, ops.reshape(start, (-1,)))


def data_sizes(length: Tensor) -> Size:
    """The one element as a size, which a call reads where nobody knows it before.

    An input is read, too: a compiled form for each length would be another at each token.
    """
    one = ops.reshape(length, (1,))
    try:
        (found,) = numbers(one)
    except NeedsValue:
        found = ops.size_from(one, "length")
    return found


def whole(past: Size, length: Size) -> Size:
    """How many rows a cache has at the end of a call: a shared one keeps its size."""
    sizes = (ops.reshape(ops.size_value(each, i64), (1,)) for each in (past, length))
    (found,) = numbers(ops.maximum(*sizes))
    return found
