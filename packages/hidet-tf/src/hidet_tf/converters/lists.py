"""TensorLists, which loops of TensorFlow read rows of and write rows to, as dense tensors.

A list is the stack of its elements. One that was reserved has none before the first is set, since
its shape may be known no sooner; until then all of them are zero. Setting an element is an update,
which a loop that carries the list makes in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hidet import ops
from hidet.errors import NotYet
from hidet.frontend.importing.operands import elements, integers, size_tensor
from hidet.graph import Tensor
from hidet.types import DType, Size, i32, i64
from hidet_tf.converters.table import tf


@dataclass(frozen=True)
class TensorList:
    """`length` elements of one type; `rows` is their stack, None if all are zero and of a shape
    that is still unknown."""

    dtype: DType
    length: Size
    device: str
    rows: Tensor | None = None
    shape: tuple[Size | None, ...] | None = None
    """The sizes of an element as far as its maker knew them."""

    def of(self, rows: Tensor) -> TensorList:
        """A list of these rows instead."""
        return replace(self, rows=rows, length=rows.shape[0])

    def made(self, shape: Sequence[Size | None] | None = None) -> Tensor:
        """The rows; zeros of `shape` if none was set. NotYet where nobody knows a size."""
        if self.rows is not None:
            return self.rows
        known = agreed(self.shape, shape)
        if known is None:
            raise NotYet("a list of which no element was set, and whose elements' shape is unknown")
        zero = False if self.dtype.is_bool else 0
        return ops.full((self.length, *known), zero, self.dtype, device=self.device)


def agreed(*shapes: Sequence[Size | None] | None) -> tuple[Size, ...] | None:
    """The shape that several say in part; None if a size is missing."""
    said = [each for each in shapes if each is not None]
    if not said or len({len(each) for each in said}) > 1:
        return None
    axes = zip(*said, strict=True)
    found = [next((size for size in sizes if size is not None), None) for sizes in axes]
    sizes = tuple(size for size in found if size is not None)
    return sizes if len(sizes) == len(found) else None


def spelled(shape: Tensor) -> tuple[Size | None, ...] | None:
    """An element's shape as operands have it: -1 for an unknown size, or for all of them."""
    if shape.ndim == 0:
        return None
    found = elements(shape)
    return tuple(None if isinstance(each, Tensor) or each == -1 else each for each in found)


def row_shape(given: TensorList, shape: Tensor) -> tuple[Size | None, ...] | None:
    """The shape that an operand has for a row of a list, if it has to be known."""
    return None if given.rows is not None else spelled(shape)


@tf("TensorListReserve")
def reserve(shape: Tensor, count: Tensor, *, element_dtype: DType | None) -> TensorList:
    """A list of so many zeros."""
    if element_dtype is None:
        raise NotYet("lists of lists, and of strings")
    return TensorList(
        element_dtype, ops.size_from(count, "length"), shape.device, shape=spelled(shape)
    )


@tf("EmptyTensorList")
def empty(shape: Tensor, most: Tensor, *, element_dtype: DType | None) -> TensorList:
    """A list of nothing, to which elements are pushed."""
    if element_dtype is None:
        raise NotYet("lists of lists, and of strings")
    return TensorList(element_dtype, 0, shape.device, shape=spelled(shape))


@tf("TensorListFromTensor")
def from_tensor(x: Tensor, shape: Tensor) -> TensorList:
    """A list of the rows of a tensor."""
    return TensorList(x.dtype, x.shape[0], x.device, x)


@tf("TensorListStack")
def stack(given: TensorList, shape: Tensor) -> Tensor:
    """The elements one after the other."""
    return given.made(row_shape(given, shape))


@tf("TensorListGetItem")
def get_item(given: TensorList, index: Tensor, shape: Tensor) -> Tensor:
    """One element."""
    return ops.take(given.made(row_shape(given, shape)), (index,))


@tf("TensorListSetItem")
def set_item(
    given: TensorList, index: Tensor, item: Tensor, *, resize_if_index_out_of_bounds: bool = False
) -> TensorList:
    """The list with another element at a place.

    A list that grows by this is one whose places are known: NotYet otherwise.
    """
    if resize_if_index_out_of_bounds:
        given = grown(given, index, item)
    row = ops.reshape(item, (1, *item.shape))
    place = ops.reshape(index, (1,))
    return given.of(ops.index_put(given.made(item.shape), (place,), row, distinct=True))


def grown(given: TensorList, index: Tensor, item: Tensor) -> TensorList:
    """A list that has a place for the element."""
    (place,) = elements(ops.reshape(index, (1,)))
    if not isinstance(place, int) or not isinstance(given.length, int):
        raise NotYet("a list that grows where only a call tells")
    return resized(given, max(place + 1, given.length), item.shape)


def resized(
    given: TensorList, length: Size, shape: Sequence[Size | None] | None = None
) -> TensorList:
    """A list of another length, by zeros at its end or without its last elements."""
    if given.rows is None or not isinstance(length, int) or not isinstance(given.length, int):
        if given.rows is not None:
            raise NotYet("a list whose length only a call tells is resized")
        return replace(given, length=length)
    if length <= given.length:
        return given.of(ops.slice(given.rows, 0, 0, length))
    more = replace(given, length=length - given.length, rows=None).made(given.rows.shape[1:])
    return given.of(ops.concat([given.rows, more], 0))


@tf("TensorListResize")
def resize(given: TensorList, size: Tensor) -> TensorList:
    """The list with another length."""
    return resized(given, ops.size_from(size, "length"))


@tf("TensorListPushBack")
def push_back(given: TensorList, item: Tensor) -> TensorList:
    """The list with an element more at its end."""
    row = ops.reshape(item, (1, *item.shape))
    if given.length == 0:
        return given.of(row)
    return given.of(ops.concat([given.made(item.shape), row], 0))


@tf("TensorListPopBack")
def pop_back(given: TensorList, shape: Tensor) -> tuple[TensorList, Tensor]:
    """The list without its last element, and that element."""
    rows = given.made(row_shape(given, shape))
    last = ops.reshape(ops.slice(rows, 0, -1), rows.shape[1:])
    return given.of(ops.slice(rows, 0, 0, -1)), last


@tf("TensorListLength")
def length(given: TensorList) -> Tensor:
    """How many elements there are."""
    return ops.size_value(given.length, i32, device=given.device)


@tf("TensorListElementShape")
def element_shape(given: TensorList, *, shape_type: DType) -> Tensor:
    """The shape of an element, -1 for a size that nobody knows."""
    shape = given.shape if given.rows is None else given.rows.shape[1:]
    if shape is None:
        return ops.full((), -1, shape_type, device=given.device)
    known = [-1 if size is None else size for size in shape]
    return size_tensor(known, shape_type, given.device)


@tf("TensorListGather")
def gather(given: TensorList, indices: Tensor, shape: Tensor) -> Tensor:
    """The elements at these places, stacked."""
    return ops.take(given.made(row_shape(given, shape)), (indices,))


@tf("TensorListScatterIntoExistingList")
def scatter_into(given: TensorList, rows: Tensor, indices: Tensor) -> TensorList:
    """The list with other elements at these places."""
    return given.of(ops.index_put(given.made(rows.shape[1:]), (indices,), rows))


@tf("TensorListScatter", "TensorListScatterV2")
def scatter(
    rows: Tensor, indices: Tensor, shape: Tensor, count: Tensor | None = None
) -> TensorList:
    """A list with these elements at these places, and zeros elsewhere."""
    size: Any = -1 if count is None else ops.size_from(count, "length")
    if size == -1:
        size = 1 + max(integers(indices), default=-1)
    made = TensorList(rows.dtype, size, rows.device)
    return scatter_into(made, rows, indices)


@tf("TensorListConcat", "TensorListConcatV2")
def concat(given: TensorList, *more: Tensor) -> tuple[Tensor, Tensor]:
    """The elements one after the other along their first axis, and how long each is."""
    rows = given.made()
    sizes = ops.size_value(rows.shape[1], i64, device=given.device)
    lengths = ops.expand(ops.reshape(sizes, (1,)), (given.length,))
    return ops.flatten(rows, 0, 1), lengths


@tf("TensorListSplit")
def split(x: Tensor, shape: Tensor, lengths: Tensor) -> TensorList:
    """A list of the parts of a tensor along its first axis, which are of one length."""
    sizes = integers(lengths)
    if len(set(sizes)) != 1:
        raise NotYet("a list of elements of different lengths")
    rows = ops.reshape(x, (len(sizes), sizes[0], *x.shape[1:]))
    return TensorList(x.dtype, len(sizes), x.device, rows)
