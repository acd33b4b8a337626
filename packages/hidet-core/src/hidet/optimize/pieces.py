"""Constants made by moving others: where in them those lie whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from hidet.graph.tensor import Tensor
from hidet.ops.tensors.joining import Concat
from hidet.ops.tensors.shape import Permute, Reshape


@dataclass(frozen=True)
class Piece:
    """A constant as part of another, which is in rows: an offset and strides in elements."""

    source: Tensor
    offset: int
    strides: tuple[int, ...]


def pieces(tensor: Tensor) -> tuple[Piece, ...]:
    """The constants of which a tensor consists, each once; none if anything is computed."""
    if not all(isinstance(size, int) for size in tensor.shape):
        return ()
    if tensor.storage is not None:
        return (Piece(tensor, 0, in_rows(sizes(tensor))),)
    if tensor.trace is None:
        return ()
    node = tensor.trace[0]
    match node.op:
        case Reshape():
            return pieces(node.inputs[0])
        case Permute(axes=axes):
            return permuted(node.inputs[0], axes)
        case Concat(axis=axis):
            return joined(node.inputs, axis)
    return ()


def joined(parts: Sequence[Tensor], axis: int) -> tuple[Piece, ...]:
    """The pieces of tensors one after the other along an axis."""
    inner = [prod(sizes(each)[axis:]) for each in parts]
    starts = [0, *accumulate(inner)]
    found: list[Piece] = []
    for each, length, start in zip(parts, inner, starts, strict=False):
        moved = [spread(piece, length, starts[-1], start) for piece in pieces(each)]
        if not moved or None in moved:
            return ()
        found += (piece for piece in moved if piece is not None)
    return tuple(found) if len({each.source for each in found}) == len(found) else ()


def spread(piece: Piece, length: int, whole: int, start: int) -> Piece | None:
    """A piece of a tensor whose stretches of `length` come to lie `whole` apart from `start` on."""
    rows, within = divmod(piece.offset, length)
    strides, last = [], within
    for size, stride in zip(sizes(piece.source), piece.strides, strict=True):
        if stride % length == 0:
            strides.append(stride // length * whole)
        else:
            strides.append(stride)
            last += (size - 1) * stride
    fits = last < length
    return Piece(piece.source, rows * whole + start + within, tuple(strides)) if fits else None


def permuted(x: Tensor, axes: Sequence[int]) -> tuple[Piece, ...]:
    """The piece that a constant is of itself with its axes in another order."""
    if x.storage is None:
        return ()
    rows = in_rows([sizes(x)[axis] for axis in axes])
    return (Piece(x, 0, tuple(rows[list(axes).index(axis)] for axis in range(x.ndim))),)


def in_rows(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor in rows."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def sizes(tensor: Tensor) -> tuple[int, ...]:
    """A shape of numbers."""
    return tuple(size for size in tensor.shape if isinstance(size, int))
