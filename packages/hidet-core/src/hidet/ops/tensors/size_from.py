"""Sizes that are elements of tensors: known at once where the value is, else read by each call."""

from __future__ import annotations

from typing import Any

from hidet.compute.sizes import equal
from hidet.errors import DtypeMismatch, ShapeMismatch
from hidet.graph import Tensor
from hidet.graph.data_sizes import tell
from hidet.graph.known import known
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.shape import reshape
from hidet.types import Size, i64


def size_from(tensor: Tensor, name: str = "size", low: int = 0, high: int | None = None) -> Size:
    """The one element of an integer tensor as a size, which shapes of other tensors may use.

    If the value is not known when the graph is made, each call reads it, raises ShapeMismatch if it
    is below `low` or above `high`, and continues with what depends on it. `name` appears in texts.
    Raises DtypeMismatch where the element is no integer.
    """
    if not tensor.dtype.is_integer:
        raise DtypeMismatch(f"a size is an integer, not {tensor.dtype.name}")
    if equal(tensor.size, 1) is not True:
        raise ShapeMismatch(f"a size is one element, not {tensor.type}")
    found: Any = known(tensor)
    if found is not None and found.size and found.flat[0] is not None:
        return within(found.flat[0], name, low, high)
    return tell(reshape(cast(tensor, i64), ()), name, (low, high))


def within(size: Size, name: str, low: int, high: int | None) -> Size:
    """A size that is known; ShapeMismatch if it is beyond its limits."""
    if isinstance(size, int) and (size < low or (high is not None and size > high)):
        most = "" if high is None else f" and at most {high}"
        raise ShapeMismatch(f"{name} is {size}, which has to be at least {low}{most}")
    return size
