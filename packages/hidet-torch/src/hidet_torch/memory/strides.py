"""How values lie in PyTorch's memory: in rows, in rows of another order of axes, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def hint(size: Any) -> int:
    """A size as a number; of a symbolic one its value in the example."""
    if isinstance(size, torch.SymInt):
        value = size.node.hint
        return 2 if value is None else int(value)
    return int(size)


def order_of(value: torch.Tensor) -> tuple[int, ...] | None:
    """The order of axes in which the elements lie in rows without gaps; None if there is none.

    The identity where the tensor is contiguous. Sizes of 1 and empty tensors fit any order.
    """
    sizes, strides = [*map(hint, value.shape)], [*map(hint, value.stride())]
    identity = tuple(range(len(sizes)))
    if is_packed(sizes, strides, identity):
        return identity
    order = tuple(sorted(identity, key=lambda axis: (-strides[axis], axis)))
    return order if is_packed(sizes, strides, order) else None


def is_packed(sizes: Sequence[int], strides: Sequence[int], order: Sequence[int]) -> bool:
    """Whether the axes, outermost first, lie without gaps."""
    if 0 in sizes:
        return True
    expected = 1
    for axis in reversed(order):
        if sizes[axis] != 1:
            if strides[axis] != expected:
                return False
            expected *= sizes[axis]
    return True


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """The order that undoes another one."""
    found = [0] * len(order)
    for position, axis in enumerate(order):
        found[axis] = position
    return tuple(found)
