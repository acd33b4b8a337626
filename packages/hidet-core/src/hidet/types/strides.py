"""How the elements of an array lie in memory: an order of its axes, outermost first, or gaps."""

from __future__ import annotations

from collections.abc import Sequence


def is_packed(
    shape: Sequence[int], strides: Sequence[int], order: Sequence[int], item: int = 1
) -> bool:
    """Whether the axes, outermost first, lie without gaps; strides count an element as `item`.

    Sizes of 1 and empty arrays fit any order.
    """
    if 0 in shape:
        return True
    expected = item
    for axis in reversed(order):
        if shape[axis] != 1:
            if strides[axis] != expected:
                return False
            expected *= shape[axis]
    return True


def dense_order(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...] | None:
    """The order of axes in which elements lie without gaps; None if there is none.

    The identity wherever that fits; strides are in elements.
    """
    identity = tuple(range(len(shape)))
    if is_packed(shape, strides, identity):
        return identity
    order = tuple(sorted(identity, key=lambda axis: (-strides[axis], axis)))
    return order if is_packed(shape, strides, order) else None


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """The order that undoes another one."""
    found = [0] * len(order)
    for position, axis in enumerate(order):
        found[axis] = position
    return tuple(found)
