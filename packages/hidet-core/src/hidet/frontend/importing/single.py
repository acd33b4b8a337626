"""Constants that are one number, as the operator that says the number.

Exporters write every number of a model as a tensor: a scale, the epsilon of a norm, a mask of
nothing but zeros. Passes look for such numbers, and kernels hold them as literals.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hidet import ops
from hidet.graph import Tensor
from hidet.graph.known import known
from hidet.ir.expr import Expr
from hidet.ops.tensors.create import Full


def as_number(value: Any) -> Any:
    """A computed tensor of one element that is known, as a number; other values as they are."""
    if not isinstance(value, Tensor) or any(size != 1 for size in value.shape):
        return value
    if value.trace is None or isinstance(value.trace[0].op, Full):
        return value
    elements = known(value)
    number = None if elements is None else elements.flat[0]
    if number is None or isinstance(number, Expr) or number != number:
        return value
    return ops.full(value.shape, number, value.dtype, device=value.device)


def one_number(array: np.ndarray[Any, Any]) -> Any:
    """The number that an array has everywhere, if it is a single one or has two axes at least; else
    None.

    A vector of equal elements is a weight like any other: the next model has other ones in it.
    """
    if array.dtype.kind not in "biuf" or not array.size or (array.ndim == 1 and array.size > 1):
        return None
    first = array.flat[0]
    if first != first or array.flat[-1] != first or not (array == first).all():
        return None
    if first == 0 and array.dtype.kind == "f" and len(np.unique(np.signbit(array))) > 1:
        return None  # zeros of both signs
    return first.item()
