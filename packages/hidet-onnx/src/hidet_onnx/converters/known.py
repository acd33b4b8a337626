"""Operands whose elements decide shapes or attributes, and constants that converters make."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidet import ops
from hidet.errors import NeedsValue, NotYet
from hidet.graph import Tensor
from hidet.graph.known import known, numbers, values
from hidet.ops.create import Full
from hidet.types import DType, Size, TensorType
from hidet_onnx.converters.here import here

__all__ = ["constant", "integer", "integers", "literal", "number", "numbers", "sizes_of", "values"]


def sizes_of(tensor: Tensor) -> tuple[Size, ...]:
    """The elements as sizes, those that only data tell too: each call reads these."""
    try:
        return numbers(tensor)
    except NeedsValue as error:
        if error.inputs:  # who imports can ask for them
            raise
    (count,) = tensor.shape
    if not isinstance(count, int):
        raise NotYet(f"a shape of {count} axes")
    elements = known(tensor)
    found = [None] * count if elements is None else elements.tolist()
    return tuple(
        ops.size_from(ops.select(tensor, 0, place)) if each is None else each
        for place, each in enumerate(found)
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


def constant(array: Any, dtype: DType) -> Tensor:
    """A tensor of these values, where the model runs."""
    given = np.asarray(array).astype(dtype.numpy)
    return Tensor(TensorType(dtype, given.shape), "cpu", given).to(device=here().device)
