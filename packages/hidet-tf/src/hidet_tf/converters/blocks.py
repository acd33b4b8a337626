"""Blocks of places as images or channels; convolutions between them are dilated ones.

TensorFlow spells a dilated convolution as SpaceToBatchND, a convolution, BatchToSpaceND: each image
is one of every so many places. The two that meet again around a convolution leave one with a
dilation.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from hidet import ops
from hidet.compute.sizes import equal, product, tidy
from hidet.frontend.operands import integers
from hidet.graph import Node, Tensor, apply
from hidet.ops.conv import Conv
from hidet.ops.layout import to_last, to_second
from hidet.ops.shape import Permute
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
    around = [
        up_to_multiple(size, *each, step)
        for size, each, step in zip(x.shape[1:], widths(paddings), steps, strict=False)
    ]
    wide = ops.pad(x, [(0, 0), *around, *[(0, 0)] * (x.ndim - 1 - rank)])
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


def up_to_multiple(size: Size, before: Size, after: Size, step: int) -> tuple[Size, Size]:
    """The margins of an axis, which make it a multiple of the step, as sizes that show that."""
    whole = size + before + after
    if equal(whole % step, 0):
        return before, after
    return before, tidy(whole // step * step - size - before)


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
    conv = turned(x, to_last(x.ndim))
    if conv is None or not isinstance(conv.op, Conv) or not is_plain(conv.op, len(steps)):
        return None
    image, weight, bias = conv.op.arrange(conv.inputs)
    before = turned(image, to_second(x.ndim))
    source = None if before is None else _wide.get(before)
    if source is None or source[1] != tuple(steps):
        return None
    attributes = conv.op.attributes() | {"dilation": tuple(steps)}
    return restored(apply(Conv, second(source[0], "NHWC"), weight, bias, **attributes), "NHWC")


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
