"""Shapes: what passes through, sizes as tensors, reshaping, axes, joining, padding."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.compute.sizes import broadcast, product, tidy
from hidet.errors import BadArgument
from hidet.frontend.importing.operands import (
    integer,
    integers,
    number,
    numbers,
    size_tensor,
    sizes_of,
)
from hidet.graph import Tensor
from hidet.types import DType, Size
from hidet_tf.converters.table import tf


@tf("Identity", "StopGradient", "PreventGradient", "CheckNumerics", "EnsureShape")
def identity(x: Tensor) -> Tensor:
    """The operand itself."""
    return x


@tf("IdentityN")
def identity_n(tensors: list[Tensor]) -> tuple[Tensor, ...]:
    """The operands themselves."""
    return tuple(tensors)


# ---- sizes as tensors ----------------------------------------------------------------------------


@tf("Shape")
def shape(x: Tensor, *, out_type: DType) -> Tensor:
    """The sizes of x as a tensor."""
    return size_tensor(x.shape, out_type, x.device)


@tf("ShapeN")
def shape_n(tensors: list[Tensor], *, out_type: DType) -> tuple[Tensor, ...]:
    """The sizes of each operand."""
    return tuple(shape(each, out_type=out_type) for each in tensors)


@tf("Size")
def size(x: Tensor, *, out_type: DType) -> Tensor:
    """How many elements x has."""
    return ops.size_value(product(x.shape), out_type, device=x.device)


@tf("Rank")
def rank(x: Tensor) -> Tensor:
    """How many axes x has."""
    return ops.full((), x.ndim, "int32", device=x.device)


@tf("BroadcastArgs")
def broadcast_args(a: Tensor, b: Tensor) -> Tensor:
    """The shape to which two shapes broadcast."""
    return size_tensor(broadcast(numbers(a), numbers(b)), a.dtype, a.device)


# ---- another shape -------------------------------------------------------------------------------


@tf("Reshape")
def reshape(x: Tensor, shape: Tensor) -> Tensor:
    """The same elements under another shape, in which -1 is what remains."""
    return ops.reshape(x, sizes_of(shape))


@tf("Squeeze")
def squeeze(x: Tensor, *, squeeze_dims: Sequence[int]) -> Tensor:
    """x without axes of size 1: those said, or all."""
    return ops.squeeze(x, squeeze_dims or None)


@tf("ExpandDims")
def expand_dims(x: Tensor, axis: Tensor) -> Tensor:
    """x with an axis of size 1 at this place of the result."""
    return ops.unsqueeze(x, integer(axis))


@tf("Transpose")
def transpose(x: Tensor, order: Tensor) -> Tensor:
    """x with its axes in another order."""
    return ops.permute(x, integers(order))


@tf("BroadcastTo")
def broadcast_to(x: Tensor, shape: Tensor) -> Tensor:
    """x broadcast to a shape."""
    return ops.expand(x, sizes_of(shape))


@tf("Tile")
def tile(x: Tensor, multiples: Tensor) -> Tensor:
    """x repeated as a whole along each axis."""
    return ops.tile(x, sizes_of(multiples))


# ---- joining and parting -------------------------------------------------------------------------


@tf("Pack")
def pack(tensors: list[Tensor], *, axis: int) -> Tensor:
    """The operands along a new axis."""
    return ops.stack(tensors, axis)


@tf("Unpack")
def unpack(x: Tensor, *, num: int, axis: int) -> tuple[Tensor, ...]:
    """The slices of an axis."""
    return tuple(ops.select(x, axis, place) for place in range(num))


@tf("ConcatV2")
def concat(tensors: list[Tensor], axis: Tensor) -> Tensor:
    """The tensors one after the other along an axis."""
    return ops.concat(tensors, integer(axis))


@tf("Concat")
def concat_along(axis: Tensor, tensors: list[Tensor]) -> Tensor:
    """The same with the axis first."""
    return concat(tensors, axis)


@tf("Split")
def split(axis: Tensor, x: Tensor, *, num_split: int) -> tuple[Tensor, ...]:
    """Equal pieces of an axis."""
    along = integer(axis)
    return ops.split(x, [tidy(x.shape[along] // num_split)] * num_split, along)


@tf("SplitV")
def split_by_sizes(x: Tensor, sizes: Tensor, axis: Tensor) -> tuple[Tensor, ...]:
    """The pieces of an axis of these sizes, of which one may be -1, what remains."""
    along, wanted = integer(axis), list(sizes_of(sizes))
    for place, each in enumerate(wanted):
        if isinstance(each, int) and each == -1:
            rest = tidy(sum(wanted[:place] + wanted[place + 1 :]))
            wanted[place] = tidy(x.shape[along] - rest)
    return ops.split(x, wanted, along)


# ---- padding and turning -------------------------------------------------------------------------


@tf("Pad")
def pad(x: Tensor, paddings: Tensor) -> Tensor:
    """x between zeros."""
    return ops.pad(x, widths(paddings))


@tf("PadV2")
def pad_with(x: Tensor, paddings: Tensor, value: Tensor) -> Tensor:
    """x between elements of one value."""
    return ops.pad(x, widths(paddings), value=number(value))


def widths(paddings: Tensor) -> list[tuple[Size, Size]]:
    """What comes before and after on each axis."""
    found = sizes_of(ops.reshape(paddings, (-1,)))
    return list(zip(found[::2], found[1::2], strict=True))


@tf("MirrorPad")
def mirror_pad(x: Tensor, paddings: Tensor, *, mode: str) -> Tensor:
    """x between reflections of itself, which repeat the elements at its ends if SYMMETRIC."""
    if mode == "REFLECT":
        return ops.pad(x, widths(paddings), "reflect")
    if mode != "SYMMETRIC":
        raise BadArgument(f"MirrorPad has no mode {mode!r}", help="use REFLECT or SYMMETRIC")
    for axis, (before, after) in enumerate(widths(paddings)):
        if before == 0 and after == 0:
            continue
        end = x.shape[axis]
        first = ops.flip(ops.slice(x, axis, 0, before), axis)
        last = ops.flip(ops.slice(x, axis, tidy(end - after), end), axis)
        x = ops.concat([first, x, last], axis)
    return x


@tf("ReverseV2")
def reverse(x: Tensor, axes: Tensor) -> Tensor:
    """x reversed along axes."""
    return ops.flip(x, integers(axes))


@tf("Roll")
def roll(x: Tensor, shift: Tensor, axis: Tensor) -> Tensor:
    """x moved on along axes, what leaves at an end coming in at the other."""
    return ops.roll(x, integers(shift), integers(axis))


@tf("ReverseSequence")
def reverse_sequence(x: Tensor, lengths: Tensor, *, seq_dim: int, batch_dim: int) -> Tensor:
    """The first elements of each sample reversed, so many as its length says."""
    return ops.reverse_sequence(x, lengths, batch_axis=batch_dim, time_axis=seq_dim)


@tf("MatrixBandPart")
def matrix_band_part(x: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """The elements at most so far below and above the diagonal; all of a side if negative."""
    below, above = integer(lower), integer(upper)
    x = x if above < 0 else ops.tril(x, above)
    return x if below < 0 else ops.triu(x, -below)
