"""Lists of tensors whose length is known while importing, and values that may be absent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hidet import ops
from hidet.errors import BadArgument
from hidet.frontend.importing.operands import integer, numbers
from hidet.graph import Tensor
from hidet.types import boolean, i64
from hidet_onnx.converters.known import constant
from hidet_onnx.converters.shape import equal_parts, require_few
from hidet_onnx.converters.table import onnx


def place(sequence: Sequence[Any], position: Tensor | None, most: int) -> int:
    """A position from the start, at most `most`; by default that."""
    if position is None:
        return most
    given = integer(position)
    found = given + len(sequence) if given < 0 else given
    if not 0 <= found <= most:
        raise BadArgument(f"position {given} of a sequence of {len(sequence)}")
    return found


@onnx("SequenceEmpty", since=11, takes_host_values=True)
def sequence_empty(*, dtype: int | None = None) -> list[Any]:
    """A list of nothing."""
    return []


@onnx("SequenceConstruct", since=11, takes_host_values=True)
def sequence_construct(*tensors: Tensor) -> list[Tensor]:
    """The operands as a list."""
    return list(tensors)


@onnx("SequenceInsert", since=11, takes_host_values=True)
def sequence_insert(
    sequence: Sequence[Any], tensor: Tensor, position: Tensor | None = None
) -> list[Any]:
    """The list with a tensor more, by default at its end."""
    where = place(sequence, position, len(sequence))
    return [*sequence[:where], tensor, *sequence[where:]]


@onnx("SequenceErase", since=11, takes_host_values=True)
def sequence_erase(sequence: Sequence[Any], position: Tensor | None = None) -> list[Any]:
    """The list with a tensor less, by default the last one."""
    where = place(sequence, position, len(sequence) - 1)
    return [*sequence[:where], *sequence[where + 1 :]]


@onnx("SequenceAt", since=11, takes_host_values=True)
def sequence_at(sequence: Sequence[Any], position: Tensor) -> Any:
    """One tensor of the list."""
    return sequence[place(sequence, position, len(sequence) - 1)]


@onnx("SequenceLength", since=11, takes_host_values=True)
def sequence_length(sequence: Sequence[Any]) -> Tensor:
    """How many tensors the list has."""
    return constant(len(sequence), i64)


@onnx("ConcatFromSequence", since=11)
def concat_from_sequence(sequence: Sequence[Tensor], *, axis: int, new_axis: int = 0) -> Tensor:
    """The tensors one after the other along an axis, or along a new one."""
    return ops.stack(sequence, axis) if new_axis else ops.concat(sequence, axis)


@onnx("SplitToSequence", since=11)
def split_to_sequence(
    x: Tensor, split: Tensor | None = None, *, axis: int = 0, keepdims: int = 1
) -> list[Any]:
    """The pieces of an axis: of one size, of several, or (by default) one element each."""
    if isinstance(x, np.ndarray):
        raise BadArgument("a list of strings")
    where = axis % x.ndim
    if split is None:
        size = x.shape[where]
        if not isinstance(size, int):
            raise BadArgument("the length of the list is known only at a call")
        pieces = equal_parts(x, size, where) if size else ()
        return [piece if keepdims else ops.squeeze(piece, where) for piece in pieces]
    sizes = numbers(split)
    if split.ndim:
        return list(ops.split(x, sizes, where))
    (one,) = sizes
    if not isinstance(one, int):
        raise BadArgument("the length of the list is known only at a call")
    require_few(x.shape[where] // max(one, 1))
    return list(ops.split(x, one, where))


@onnx("Optional", since=15, takes_host_values=True)
def optional(value: Any = None, *, type: Any = None) -> Any:
    """The value, which may be absent."""
    return value


@onnx("OptionalGetElement", since=15, takes_host_values=True)
def optional_get_element(value: Any) -> Any:
    """The value, if it is there."""
    if value is None:
        raise BadArgument("the optional value is absent")
    return value


@onnx("OptionalHasElement", since=15, takes_host_values=True)
def optional_has_element(value: Any = None) -> Tensor:
    """Whether the value is there."""
    return constant(value is not None, boolean)
