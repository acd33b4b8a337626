"""Values of a SIMT group: one numpy scalar where all threads agree, else an array with a row each.

A vector value has its lanes along the last axis. Which rows mean anything is said by a mask.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]
Value: TypeAlias = Any
"""A numpy scalar or array, or a `Pointer`."""


def varies(value: Value, vector: bool = False) -> bool:
    """Whether the value has a row for each thread."""
    return np.ndim(value) > int(vector)


def some(condition: Value) -> bool:
    """Whether a condition holds for any thread; faster than `any`, and asked of every access."""
    return bool(np.count_nonzero(condition))


def every(condition: Array) -> bool:
    """Whether a condition holds for all threads."""
    return bool(np.count_nonzero(condition) == condition.size)


def rows(value: Value, lanes: Any, vector: bool = False) -> Value:
    """The value at the threads `lanes`; as it is where all threads agree."""
    return value[lanes] if varies(value, vector) else value


def spread(value: Value, count: int, vector: bool = False) -> Array:
    """The value as an array with a row for each of `count` threads."""
    if varies(value, vector):
        return np.asarray(value)
    tail = np.shape(value)[-1:] if vector else ()
    return np.broadcast_to(value, (count, *tail))


def choose(condition: Value, then: Value, otherwise: Value, vector: bool = False) -> Value:
    """`then` where `condition` holds, else `otherwise`; the type of `then`."""
    if vector and np.ndim(condition) == 1:
        condition = condition[:, None]
    return np.where(condition, then, otherwise)


def bits_as(value: Value, to: np.dtype[Any], vector: bool, into_vector: bool) -> Value:
    """The bits of each thread's value (a vector?) read as elements of `to` (a vector of them?)."""
    lanes = np.asarray(value) if vector else np.asarray(value)[..., None]
    seen = np.ascontiguousarray(lanes).view(to)
    return seen if into_vector else seen[..., 0]
