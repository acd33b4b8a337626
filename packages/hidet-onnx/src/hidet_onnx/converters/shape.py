"""Shapes: reshaping, axes, parts, padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hidet import ops
from hidet.compute.sizes import agree, product, same
from hidet.errors import BadArgument, NotYet, ShapeMismatch
from hidet.frontend.importing.operands import (
    integer,
    integers,
    number,
    numbers,
    size_of,
    size_tensor,
    sizes_of,
)
from hidet.graph import Tensor
from hidet.graph.data_sizes import require, size_source
from hidet.graph.dims import axes_of
from hidet.ir.expr import Expr
from hidet.ir.walk import variables
from hidet.ops.elementwise.size_relations import assume_multiple
from hidet.types import Size, i64
from hidet_onnx.converters.here import here
from hidet_onnx.converters.known import constant
from hidet_onnx.converters.table import onnx
from hidet_onnx.converters.windows import each, explicit


@onnx("Identity", since=1)
def identity(x: Tensor) -> Tensor:
    """The operand itself."""
    return x


@onnx("Shape", since=15)
def shape(x: Tensor, *, start: int = 0, end: int | None = None) -> Tensor:
    """The sizes of x, or those of some axes, as a tensor."""
    return as_tensor(x.shape[slice(start, end)])


@onnx("Shape", since=1)
def shape_before_15(x: Tensor) -> Tensor:
    """The sizes of x as a tensor."""
    return as_tensor(x.shape)


def as_tensor(sizes: Sequence[Size]) -> Tensor:
    """Sizes as the elements of a tensor."""
    return size_tensor(sizes, i64, here().device)


@onnx("Size", since=1)
def size(x: Tensor) -> Tensor:
    """How many elements x has."""
    found = product(x.shape)
    return (
        constant(found, i64)
        if isinstance(found, int)
        else ops.size_value(found, device=here().device)
    )


@onnx("Reshape", since=5)
def reshape(x: Tensor, shape: Tensor, *, allowzero: int = 0) -> Tensor:
    """The same elements under another shape; 0 keeps the size of an axis unless `allowzero`."""
    return reshaped(x, sizes_of(shape), allowzero)


@onnx("Reshape", since=1)
def reshape_before_5(
    x: Tensor, *, shape: Sequence[int] | None = None, consumed_inputs: Sequence[int] | None = None
) -> Tensor:
    """The same with a shape that the model fixes."""
    if shape is None:
        raise BadArgument("Reshape has no shape")
    return reshaped(x, shape, 0)


def reshaped(x: Tensor, sizes: Sequence[Size], allowzero: int) -> Tensor:
    """x under a shape in which 0 may keep a size and -1 is what remains."""
    wanted = [
        x.shape[axis] if isinstance(each, int) and each == 0 and not allowzero else each
        for axis, each in enumerate(sizes)
    ]
    rest = product(each for each in wanted if same(each, -1) is not True)
    if -1 in wanted and isinstance(rest, int) and rest > 0:
        assume_multiple(product(x.shape), rest)
    return ops.reshape(x, wanted)


@onnx("Squeeze", since=13)
def squeeze(x: Tensor, axes: Tensor | None = None) -> Tensor:
    """x without axes of size 1: all of them, or those said."""
    return squeezed(x, None if axes is None else integers(axes))


@onnx("Squeeze", since=1)
def squeeze_before_13(x: Tensor, *, axes: Sequence[int] | None = None) -> Tensor:
    """The same with axes that the model fixes."""
    return squeezed(x, axes)


def squeezed(x: Tensor, axes: Sequence[int] | None) -> Tensor:
    """The same; each call checks that axes that are said have size 1, where that is not known."""
    if axes is None:
        return ops.squeeze(x)
    for axis in sorted(axes_of(axes, x.ndim), reverse=True):
        size = x.shape[axis]
        if not agree(size, 1):
            if not is_data_size(size):
                raise ShapeMismatch(f"axis {axis} of {x.type} has not size 1")
            require(size, "==", 1)
        x = ops.select(x, axis, 0)
    return x


def is_data_size(size: Size) -> bool:
    """Whether data tell a size, so that each call can check it."""
    return isinstance(size, Expr) and any(size_source(each) is not None for each in variables(size))


@onnx("Unsqueeze", since=13)
def unsqueeze(x: Tensor, axes: Tensor) -> Tensor:
    """x with axes of size 1 at these places of the result."""
    return ops.unsqueeze(x, integers(axes))


@onnx("Unsqueeze", since=1)
def unsqueeze_before_13(x: Tensor, *, axes: Sequence[int]) -> Tensor:
    """The same with axes that the model fixes."""
    return ops.unsqueeze(x, axes)


@onnx("Transpose", since=1)
def transpose(x: Tensor, *, perm: Sequence[int] | None = None) -> Tensor:
    """x with its axes in another order, by default the reverse."""
    return ops.permute(x, tuple(reversed(range(x.ndim))) if perm is None else perm)


@onnx("Flatten", since=1)
def flatten(x: Tensor, *, axis: int = 1) -> Tensor:
    """x as a matrix whose rows begin at `axis`."""
    first = axis + x.ndim if axis < 0 else axis
    return ops.reshape(x, (product(x.shape[:first]), product(x.shape[first:])))


@onnx("Expand", since=8)
def expand(x: Tensor, shape: Tensor) -> Tensor:
    """x broadcast with a shape, in which sizes of x may stand as 1."""
    given = sizes_of(shape)
    wanted = (*(1,) * (x.ndim - len(given)), *given)
    sizes = (1,) * (len(wanted) - x.ndim) + x.shape
    kept = [own if same(each, 1) else each for own, each in zip(sizes, wanted, strict=True)]
    return ops.expand(x, kept)


@onnx("Concat", since=4)
def concat(*tensors: Tensor, axis: int) -> Tensor:
    """The tensors one after the other along an axis."""
    return ops.concat(tensors, axis)


@onnx("Concat", since=1)
def concat_before_4(*tensors: Tensor, axis: int | None = None) -> Tensor:
    """The same, along the second axis by default."""
    return ops.concat(tensors, 1 if axis is None else axis)


@onnx("Tile", since=6)
def tile(x: Tensor, repeats: Tensor) -> Tensor:
    """x repeated as a whole along each axis."""
    return ops.tile(x, sizes_of(repeats))


@onnx("Tile", since=1)
def tile_before_6(x: Tensor, tiles: Tensor, axis: Tensor) -> Tensor:
    """x repeated along one axis."""
    counts: list[Size] = [1] * x.ndim
    counts[integer(axis)] = size_of(tiles)
    return ops.tile(x, counts)


@onnx("Split", since=18)
def split(
    x: Tensor, sizes: Tensor | None = None, *, axis: int = 0, num_outputs: int | None = None
) -> tuple[Tensor, ...]:
    """The pieces of an axis, of the sizes said, or equal but for the last one."""
    if sizes is not None:
        return ops.split(x, sizes_of(sizes), axis)
    if num_outputs not in (None, here().results):
        raise BadArgument(f"num_outputs is {num_outputs}, and there are {here().results} results")
    return equal_parts(x, here().results, axis)


@onnx("Split", since=13)
def split_before_18(x: Tensor, sizes: Tensor | None = None, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The same; there are as many pieces as results."""
    return split(x, sizes, axis=axis)


@onnx("Split", since=2)
def split_before_13(
    x: Tensor, *, axis: int = 0, split: Sequence[int] | None = None
) -> tuple[Tensor, ...]:
    """The same with sizes that the model fixes."""
    return ops.split(x, split, axis) if split else equal_parts(x, here().results, axis)


@onnx("Split", since=1)
def split_before_2(
    x: Tensor, sizes: Tensor | None = None, *, axis: int | None = None,
    split: Sequence[int] | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The same with sizes from either."""
    if sizes is not None:
        return ops.split(x, sizes_of(sizes), axis or 0)
    return split_before_13(x, axis=axis or 0, split=split)


def require_few(pieces: Size) -> None:
    """Raise NotYet for a list of more tensors than anybody wants."""
    if isinstance(pieces, int) and pieces > MOST_PIECES:
        raise NotYet(f"{pieces} pieces of an axis; at most {MOST_PIECES} are made")


MOST_PIECES = 2**16


def equal_parts(x: Tensor, count: int, axis: int) -> tuple[Tensor, ...]:
    """So many pieces of equal size, the last one smaller if need be."""
    require_few(count)
    whole = x.shape[axis]
    if not isinstance(whole, int):
        return ops.split(x, [whole // count] * count, axis)
    each = -(-whole // count)
    sizes = [max(0, min(each, whole - each * number)) for number in range(count)]
    return ops.split(x, sizes, axis)


Mode = Literal["constant", "reflect", "replicate", "circular"]
MODES: dict[str, Mode] = {
    "constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular",
}  # fmt: skip


@onnx("Pad", since=11)
def pad(
    x: Tensor, pads: Tensor, value: Tensor | None = None, axes: Tensor | None = None, *,
    mode: str = "constant",
) -> Tensor:  # fmt: skip
    """x with more elements before and after on axes; negative widths cut."""
    filling = 0 if value is None else number(value)
    along = tuple(range(x.ndim)) if axes is None else integers(axes)
    return padded(x, sizes_of(pads), along, mode, filling)


@onnx("Pad", since=2)
def pad_before_11(
    x: Tensor, *, pads: Sequence[int], mode: str = "constant", value: float = 0.0
) -> Tensor:
    """The same with widths that the model fixes."""
    return padded(x, pads, range(x.ndim), mode, value)


@onnx("Pad", since=1)
def pad_before_2(
    x: Tensor, *, paddings: Sequence[int], mode: str = "constant", value: float = 0.0
) -> Tensor:
    """The same, the attribute under its first name."""
    return padded(x, paddings, range(x.ndim), mode, value)


def padded(x: Tensor, pads: Sequence[Size], axes: Sequence[int], mode: str, value: float) -> Tensor:
    """x padded by all widths before axes, then all after them."""
    if mode not in MODES:
        raise BadArgument(f"there is no padding mode {mode!r}", help=f"use {', '.join(MODES)}")
    if len(pads) != 2 * len(axes):
        raise BadArgument(f"{len(pads)} widths for {len(axes)} axes", help="two for each axis")
    widths: list[tuple[Size, Size]] = [(0, 0)] * x.ndim
    for place, axis in enumerate(axes):
        widths[axis] = (pads[place], pads[place + len(axes)])
    return ops.pad(x, widths, MODES[mode], value)


@onnx("CenterCropPad", since=18)
def center_crop_pad(x: Tensor, shape: Tensor, *, axes: Sequence[int] | None = None) -> Tensor:
    """The middle of x, or x in the middle of zeros, so that axes get these sizes."""
    for axis, wanted in zip(axes or range(x.ndim), numbers(shape), strict=True):
        size = x.shape[axis]
        if not isinstance(size, int) or not isinstance(wanted, int):
            raise BadArgument("CenterCropPad of sizes that only a call tells")
        if wanted < size:
            start = (size - wanted) // 2
            x = ops.slice(x, axis, start, start + wanted)
        elif wanted > size:
            before = (wanted - size) // 2
            widths = [(0, 0)] * x.ndim
            widths[axis] = (before, wanted - size - before)
            x = ops.pad(x, widths)
    return x


@onnx("Trilu", since=14)
def trilu(x: Tensor, k: Tensor | None = None, *, upper: int = 1) -> Tensor:
    """The elements on and above, or on and below, a diagonal."""
    diagonal = 0 if k is None else integer(k)
    return ops.triu(x, diagonal) if upper else ops.tril(x, diagonal)


BLOCKS = {"DCR": False, "CRD": True}
"""Whether a channel's number counts the place in the block last."""


def order_of(mode: str) -> bool:
    """The order that a mode names."""
    if mode not in BLOCKS:
        raise BadArgument(f"there is no mode {mode!r}", help="use DCR or CRD")
    return BLOCKS[mode]


@onnx("DepthToSpace", since=1)
def depth_to_space(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    """Channels of x[n, c, h, w] as blocks of its plane."""
    return ops.depth_to_space(x, blocksize, channels_outside=order_of(mode))


@onnx("SpaceToDepth", since=1)
def space_to_depth(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    """Blocks of the plane of x[n, c, h, w] as channels."""
    return ops.space_to_depth(x, blocksize, channels_outside=order_of(mode))


@onnx("ReverseSequence", since=10)
def reverse_sequence(
    x: Tensor, lengths: Tensor, *, batch_axis: int = 1, time_axis: int = 0
) -> Tensor:
    """The first elements of each sample reversed, so many as its length says."""
    return ops.reverse_sequence(x, lengths, batch_axis=batch_axis, time_axis=time_axis)


@onnx("Col2Im", since=18)
def columns_to_image(
    x: Tensor, image_shape: Tensor, block_shape: Tensor, *,
    dilations: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """The images whose windows are the columns of x, added up."""
    window = integers(block_shape)
    rank = len(window)
    return ops.fold(
        x, sizes_of(image_shape), window, stride=each(strides, rank),
        padding=explicit(pads, rank), dilation=each(dilations, rank),
    )  # fmt: skip
