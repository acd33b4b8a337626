"""Which bytes the boxes of a tensor map are, in global and in shared memory. PTX ISA, "Tensors".

A box is rows of bytes: what lies along the tensor's last axis. Where rows begin in global memory,
and which of their columns are inside of the tensor, is `Span`; where the bytes of a box lie in
shared memory, `scattered` says. Nothing here knows time or threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidet.mapping.swizzle import tma_swizzle
from hidet.types import Im2col, TensorMapType, Tile

Numbers = NDArray[np.int64]
PIECE = 16
"""Bytes that a swizzle keeps together."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """A tensor map in a launch: memory, and the tensor's sizes and strides in bytes there."""

    of: TensorMapType
    memory: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def span(self, position: tuple[int, ...], offsets: tuple[int, ...] = ()) -> Span:
        """The box at a position; ValueError says why none begins there."""
        box = self.of.box
        if isinstance(box, Tile):
            return tile_span(self, box, position)
        return column_span(self, box, position, offsets)


@dataclass(frozen=True, eq=False)
class Span:
    """The part of a box that is inside of the tensor.

    Of the rows `rows`, and of no others, the columns from `first` to before `last` are inside.
    Those of row `rows[i]` begin `starts[i]` bytes into the tensor.
    """

    rows: Numbers
    starts: Numbers
    first: int
    last: int

    @property
    def columns(self) -> int:
        """How many columns are inside."""
        return self.last - self.first


def tile_span(boxes: Boxes, box: Tile, position: tuple[int, ...]) -> Span:
    """Tiled mode: every axis is clipped on its own."""
    starts = np.zeros((1,), np.int64)
    inside = np.ones((1,), np.bool_)
    outer = zip(position[:-1], box.sizes, box.steps, boxes.shape, boxes.strides, strict=False)
    for at, size, step, extent, stride in outer:
        index = at + step * np.arange(size, dtype=np.int64)
        starts = (starts[:, None] + index * stride).reshape(-1)
        inside = (inside[:, None] & (index >= 0) & (index < extent)).reshape(-1)
    return clipped(boxes, starts, inside, position[-1])


def column_span(
    boxes: Boxes, box: Im2col, position: tuple[int, ...], offsets: tuple[int, ...]
) -> Span:
    """Im2col mode: pixels one after the other within the corners, then in the next image."""
    pixels = pixels_of(boxes, box, position)
    pixels[:, 1:] += np.array(offsets or (0,) * len(box.lower), np.int64)
    sizes = np.array(boxes.shape[:-1], np.int64)
    inside = np.asarray(((pixels >= 0) & (pixels < sizes)).all(axis=1))
    starts = pixels @ np.array(boxes.strides, np.int64)
    return clipped(boxes, starts, inside, position[-1])


def pixels_of(boxes: Boxes, box: Im2col, position: tuple[int, ...]) -> Numbers:
    """The image and the place of the filter of each pixel of a box."""
    last = [size - 1 + upper for size, upper in zip(boxes.shape[1:-1], box.upper, strict=True)]
    place = list(position[:-1])
    for at, low, high in zip(place[1:], box.lower, last, strict=True):
        if not low <= at <= high:
            raise ValueError(
                f"position {tuple(position)} is outside of the corners: along each spatial axis "
                f"it is from {box.lower} to {tuple(last)}"
            )
    found = np.empty((box.pixels, len(place)), np.int64)
    for pixel in range(box.pixels):
        found[pixel] = place
        axis = len(place) - 1
        place[axis] += box.steps[axis - 1]
        while axis > 0 and place[axis] > last[axis - 1]:
            place[axis] = box.lower[axis - 1]
            axis -= 1
            place[axis] += box.steps[axis - 1] if axis else 1
    return found


def clipped(boxes: Boxes, starts: Numbers, inside: NDArray[np.bool_], column: int) -> Span:
    """The rows that are inside, from those of their columns that are."""
    width, extent = boxes.of.shape[-1], boxes.shape[-1]
    first = min(max(-column, 0), width)
    last = max(min(extent - column, width), first)
    rows = np.flatnonzero(inside) if last > first else np.zeros(0, np.int64)
    return Span(rows, starts[rows] + (column + first) * boxes.of.dtype.nbytes, first, last)


def scattered(of: TensorMapType, base: int, offsets: Numbers) -> Numbers:
    """Where bytes of a box at shared address `base` lie, from their offsets in the plain box.

    The swizzle exchanges pieces by the bits of the address, as it does for wgmma.
    """
    if not of.swizzle_bytes:
        return offsets
    moved: Numbers = np.asarray(tma_swizzle(of.swizzle_bytes)(base + offsets)) - base
    return moved


def period(of: TensorMapType) -> int:
    """Bytes after which the swizzle repeats: the alignment at which a box looks as it is drawn."""
    return tma_swizzle(of.swizzle_bytes).period if of.swizzle_bytes else 1


def filled(of: TensorMapType) -> NDArray[np.uint8]:
    """A whole box as bytes, (rows, bytes of a row), as if all of it was outside of the tensor."""
    rows = of.nbytes // (of.shape[-1] * of.dtype.nbytes)
    value = np.full((rows, of.shape[-1]), np.nan if of.fill == "nan" else 0, of.dtype.numpy)
    return value.view(np.uint8)


def units(of: TensorMapType, span: Span) -> tuple[Numbers, int]:
    """Offsets in the plain box of what is inside, and the bytes at each (pieces, if whole)."""
    row, element = of.shape[-1] * of.dtype.nbytes, of.dtype.nbytes
    first, last = span.first * element, span.last * element
    width = PIECE if first % PIECE == 0 and last % PIECE == 0 else element
    inner = np.arange(first, last, width, dtype=np.int64)
    return (span.rows[:, None] * row + inner).reshape(-1), width
