"""Arrays of the host whose elements lie in any order, copied into rows without gaps.

A compiled kernel has the order of its inputs in its addresses. What a caller transposed is copied
by `codegen/cpu/rows.cpp`, which the team of threads brings along: a saved model needs no compiler.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from hidet.runtime.team import OnTeam, rows_copier

Array: TypeAlias = np.ndarray[Any, Any]
FEW = 8
"""Neighbours in memory that a tile has at least to be faster than numpy."""
SMALL = 1 << 16
"""Bytes below which numpy has copied an array before a tile has begun."""


def in_rows(array: Array, threads: Callable[[], int] = lambda: 1) -> Array:
    """The array in rows without gaps: itself if it lies so, else a copy made by so many threads.

    numpy makes the copy where that is as fast, since the array is small, or neighbours in memory
    stay neighbours or are few; where no compiled model has brought a team; and of elements of other
    sizes than 1, 2, 4 and 8 bytes.
    """
    if array.flags.c_contiguous:
        return array
    if array.nbytes < SMALL:
        return np.ascontiguousarray(array)
    return transposed(array, threads)


def transposed(array: Array, threads: Callable[[], int]) -> Array:
    """A copy by tiles where the array is taken for that, else by numpy."""
    copier, item = rows_copier(), array.itemsize
    axes = merged([*zip(array.shape, array.strides, strict=True)])
    near = min(range(len(axes)), key=lambda axis: abs(axes[axis][1]))
    whole = not array.dtype.hasobject and not any(stride % item for _, stride in axes)
    if copier is None or not whole or near == len(axes) - 1 or axes[near][0] < FEW:
        return np.ascontiguousarray(array)
    found = np.empty(array.shape, array.dtype)
    numbers = ctypes.c_longlong * len(axes)
    sizes, strides = numbers(*(n for n, _ in axes)), numbers(*(step // item for _, step in axes))
    with OnTeam(threads):
        given = (found.ctypes.data, array.ctypes.data, item, len(axes), near, sizes, strides)
        return found if copier(*given) else np.ascontiguousarray(array)


def merged(axes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sizes and strides of the same elements in fewer axes: an axis that goes on where the next one
    ends is one with it."""
    found: list[tuple[int, int]] = []
    for size, stride in axes:
        if size == 1:
            continue
        if found and found[-1][1] == size * stride:
            found[-1] = (found[-1][0] * size, stride)
        else:
            found.append((size, stride))
    return found
