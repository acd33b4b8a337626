"""Blocks of places as images or channels; convolutions between them are dilated ones.

TensorFlow spells a dilated convolution as SpaceToBatchND, a convolution, BatchToSpaceND: each image
is one of every so many places. The two that meet again around a convolution leave one with a
dilation.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from hidet import ops
from hidet.compute.sizes import product, tidy
from hidet.frontend.importing.operands import integers
from hidet.graph import Node, Tensor, apply
from hidet.ops.tensors.layout import to_last, to_second
from hidet.ops.tensors.shape import Permute, Reshape
from hidet.ops.windows.conv import Conv
from hidet.types import Size
from hidet_tf.converters.shape import widths
from hidet_tf.converters.table import tf
from hidet_tf.converters.windows import restored, second

_wide: WeakKeyDictionary[Node, tuple[Tensor, tuple[int, ...]]] = WeakKeyDictionary()
"""Of the node whose result is that of a SpaceToBatchND: the padded image, and the block."""


@tf("SpaceToBatchND")
def space_to_batch(x: Tensor, block: Tensor, paddings: Tensor) -> Tensor:
    """Each image is several ones of places that are a block apart."""
    steps, rank = integers(block), block.shape[0]
    assert isinstance(rank, int)
    wide = ops.pad(x, [(0, 0), *widths(paddings), *[(0, 0)] * (x.ndim - 1 - rank)])
    batch, rest = wide.shape[0], wide.shape[1 + rank :]
    places = [tidy(size // step) for size, step in zip(wide.shape[1:], steps, strict=False)]
    parts = [each for pair in zip(places, steps, strict=True) for each in pair]
    split = ops.reshape(wide, (batch, *parts, *rest))
    inner, outer = range(2, 2 * rank + 1, 2), range(1, 2 * rank + 1, 2)
    moved = ops.permute(split, (*inner, 0, *outer, *range(2 * rank + 1, split.ndim)))
    found = ops.reshape(moved, (tidy(batch * product(steps)), *places, *rest))
    if found.trace is not None:
        _wide[found.trace[0]] = (wide, steps)
    return found


@tf("BatchToSpaceND")
def batch_to_space(x: Tensor, block: Tensor, crops: Tensor) -> Tensor:
    """Images that are a block's places each are one again, less a margin."""
    steps = integers(block)
    wide = dilated(x, steps)
    if wide is None:
        wide = together(x, steps)
    for axis, (before, after) in enumerate(widths(crops), start=1):
        wide = ops.slice(wide, axis, before, tidy(wide.shape[axis] - after))
    return wide


def together(x: Tensor, steps: Sequence[int]) -> Tensor:
    """The images of a block's places as one."""
    rank = len(steps)
    batch, places = tidy(x.shape[0] // product(steps)), x.shape[1 : 1 + rank]
    rest = x.shape[1 + rank :]
    split = ops.reshape(x, (*steps, batch, *places, *rest))
    pairs_of = [each for axis in range(rank) for each in (rank + 1 + axis, axis)]
    moved = ops.permute(split, (rank, *pairs_of, *range(2 * rank + 1, split.ndim)))
    sizes = [tidy(size * step) for size, step in zip(places, steps, strict=True)]
    return ops.reshape(moved, (batch, *sizes, *rest))


def dilated(x: Tensor, steps: Sequence[int]) -> Tensor | None:
    """The dilated convolution of a whole image, if x is a plain one of its blocks' places."""
    flat = unsqueezed(x)
    found = x if flat is None else flat
    conv = turned(found, to_last(found.ndim))
    if conv is None or not isinstance(conv.op, Conv) or not is_plain(conv.op, found.ndim - 2):
        return None
    image, weight, bias = conv.op.arrange(conv.inputs)
    source = blocks_of(image, flat is not None)
    if source is None or source[1] != tuple(steps):
        return None
    dilation = (1,) * (found.ndim - x.ndim) + tuple(steps)
    attributes = conv.op.attributes() | {"dilation": dilation}
    wide = source[0] if flat is None else ops.unsqueeze(source[0], 1)
    whole = restored(apply(Conv, second(wide, "NHWC"), weight, bias, **attributes), "NHWC")
    return whole if flat is None else ops.squeeze(whole, 1)


def unsqueezed(x: Tensor) -> Tensor | None:
    """The tensor that x is without an axis of one place ahead of its own: TensorFlow spells a
    convolution along one axis as one along two."""
    node = None if x.trace is None else x.trace[0]
    if node is None or not isinstance(node.op, Reshape):
        return None
    before = node.inputs[0]
    return before if before.shape == unsqueezed_shape(x) else None


def blocks_of(image: Tensor, flat: bool) -> tuple[Tensor, tuple[int, ...]] | None:
    """The padded image and the block, if this is a SpaceToBatchND of these with channels second;
    `flat`: with an axis of one place."""
    node = turned(image, to_second(image.ndim))
    if flat and node is not None:
        before = node.inputs[0]
        is_flat = isinstance(node.op, Reshape) and unsqueezed_shape(before) == node.op.shape
        node = before.trace[0] if is_flat and before.trace is not None else None
    return None if node is None else _wide.get(node)


def unsqueezed_shape(x: Tensor) -> tuple[Size, ...]:
    """The shape of a tensor with an axis of one place ahead of its own."""
    return (x.shape[0], 1, *x.shape[1:])


def turned(x: Tensor, order: Sequence[int]) -> Node | None:
    """The node whose result x is with its axes in this order."""
    node = None if x.trace is None else x.trace[0]
    if node is None or not isinstance(node.op, Permute) or node.op.axes != tuple(order):
        return None
    before = node.inputs[0].trace
    return None if before is None else before[0]


def is_plain(op: Conv, rank: int) -> bool:
    """Whether neighbours are all that it reads, of an image that it does not pad."""
    ones = (1,) * rank
    return op.stride == ones == op.dilation and not any(map(any, op.padding))


@tf("DepthToSpace")
def depth_to_space(x: Tensor, *, block_size: int, data_format: str) -> Tensor:
    """Channels as blocks of places."""
    return restored(ops.depth_to_space(second(x, data_format), block_size), data_format)


@tf("SpaceToDepth")
def space_to_depth(x: Tensor, *, block_size: int, data_format: str) -> Tensor:
    """Blocks of places as channels."""
    return restored(ops.space_to_depth(second(x, data_format), block_size), data_format)
