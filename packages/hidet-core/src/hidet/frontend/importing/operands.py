"""Operands whose elements decide shapes or attributes, and constants that converters make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hidet import ops
from hidet.errors import NeedsValue, NotYet
from hidet.graph import Tensor
from hidet.graph.known import known, numbers, values
from hidet.ops.tensors.create import Full
from hidet.types import DType, Size, TensorType, i64

__all__ = [
    "constant", "elements", "integer", "integers", "literal", "number", "numbers", "size_of",
    "size_tensor", "sizes_of", "values",
]  # fmt: skip


def sizes_of(tensor: Tensor) -> tuple[Size, ...]:
    """The elements as sizes, those that only data tell too: each call reads these."""
    return tuple(
        ops.size_from(each) if isinstance(each, Tensor) else each for each in elements(tensor)
    )


def size_of(tensor: Tensor, most: Size | None = None) -> Size:
    """The one element as a size, at most `most`, if that is given."""
    (found,) = elements(ops.reshape(tensor, (1,)))
    if not isinstance(found, Tensor):
        return found
    if most is None or isinstance(most, int):
        return ops.size_from(found, high=most)
    number = ops.cast(found, i64)
    fits = ops.less_equal(number, ops.size_value(most, device=tensor.device))
    return ops.size_from(ops.where(fits, number, -1))  # no size, which the call refuses


def elements(tensor: Tensor) -> tuple[Size | Tensor, ...]:
    """The elements as sizes, and as tensors without axes those that only data tell."""
    try:
        return numbers(tensor)
    except NeedsValue as error:
        if error.inputs:  # who imports can ask for them
            raise
    (count,) = tensor.shape
    if not isinstance(count, int):
        raise NotYet(f"a shape of {count} axes")
    there = known(tensor)
    found = [None] * count if there is None else there.tolist()
    return tuple(
        ops.select(tensor, 0, place) if each is None else each for place, each in enumerate(found)
    )


def integers(tensor: Tensor) -> tuple[int, ...]:
    """The elements, all of which must be numbers; NotYet if one is a symbolic size."""
    found = numbers(tensor)
    for each in found:
        if not isinstance(each, int):
            raise NotYet(f"the number {each}, which only a call tells")
    return tuple(each for each in found if isinstance(each, int))


def integer(tensor: Tensor) -> int:
    """The one element."""
    (found,) = integers(tensor)
    return found


def number(tensor: Tensor) -> Any:
    """The one element, an integer, a float or a truth."""
    (found,) = values(tensor)
    return found


def literal(tensor: Tensor) -> Any:
    """The one number that a tensor is made of; None if it is not made of one."""
    made = None if tensor.trace is None else tensor.trace[0].op
    return made.value if isinstance(made, Full) else None


def constant(array: Any, dtype: DType, device: str) -> Tensor:
    """A tensor of these values, on a device."""
    given = np.asarray(array).astype(dtype.numpy)
    return Tensor(TensorType(dtype, given.shape), "cpu", given).to(device=device)


def size_tensor(sizes: Sequence[Size], dtype: DType, device: str) -> Tensor:
    """Sizes, symbolic or not, as the elements of a tensor."""
    if all(isinstance(size, int) for size in sizes):
        return constant(sizes, dtype, device)
    return ops.stack([ops.size_value(size, dtype, device=device) for size in sizes])
