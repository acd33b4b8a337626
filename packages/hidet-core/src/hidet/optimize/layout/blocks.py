"""Convolutions of few channels that step over pixels: on blocks of pixels as channels.

    before  y = conv(x[n, 3, 640, 640], weight[k, 3, 6, 6], stride=2, padding=2)
    after   y = conv(blocks[n, 322, 322, 16], taps[k, 3, 3, 16], channels_last)

A step over pixels is a step to the next block, and channels of blocks are enough to be copied
together: those of 2 x 2 pixels, one of zeros with each three. The padding is in the blocks.

Windows of floats are whole blocks: pixels beside a window would be multiplied by zero, and an
infinity or NaN there would spoil it. Those of integers become whole ones.
"""

from __future__ import annotations

from math import prod

from hidet import ops
from hidet.compute.sizes import numbers
from hidet.graph.tensor import Tensor
from hidet.ops.windows.conv import Conv

TOGETHER_BYTES = 16
"""What the channels of a pixel are a multiple of where they are copied together."""


def has_blocks(op: Conv) -> bool:
    """Whether windows are whole blocks of pixels, or may be, whose channels are too few to be
    copied."""
    known = all(isinstance(size, int) for size in (*op.sizes, *op.window, op.each))
    plain = not op.channels_last and op.groups == 1 and set(op.dilation) == {1}
    if not (known and plain and min(op.stride) > 1) or is_copied(op, numbers((op.each,))[0]):
        return False
    return op.x.dtype.is_integer or whole(op) == op.window


def whole(op: Conv) -> tuple[int, ...]:
    """The window in whole blocks."""
    axes = zip(numbers(op.window), op.stride, strict=True)
    return tuple(-(-size // step) * step for size, step in axes)


def is_copied(op: Conv, channels: int) -> bool:
    """Whether so many channels are copied together."""
    return channels * op.x.dtype.nbytes % TOGETHER_BYTES == 0


def channels(op: Conv) -> int:
    """Channels of a pixel in a block, of which some are zeros: those of a block come together."""
    (found,) = numbers((op.each,))
    while not is_copied(op, found * prod(op.stride)):
        found += 1
    return found


def in_blocks(op: Conv, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The image and the weight in blocks, channels last: of a convolution without steps."""
    more = (0, 0), (0, channels(op) - numbers((op.each,))[0])
    axes = zip(op.sizes, whole(op), op.spatial(), op.stride, op.padding, strict=True)
    around = [
        (low, (places - 1) * step + window - size - low)
        for size, window, places, step, (low, _) in axes
    ]
    beside = [(0, size - own) for size, own in zip(whole(op), numbers(op.window), strict=True)]
    wide, deep = ops.pad(x, [*more, *around]), ops.pad(weight, [*more, *beside])
    return gathered(wide, op), gathered(deep, op)


def gathered(x: Tensor, op: Conv) -> Tensor:
    """x[n, c, h, ...] as [n, h / step, ..., step · ... · c]."""
    rank = len(op.stride)
    apart = [
        part for size, step in zip(x.shape[2:], op.stride, strict=True)
        for part in (size // step, step)
    ]  # fmt: skip
    blocks, pixels = range(2, 2 + 2 * rank, 2), range(3, 3 + 2 * rank, 2)
    turned = ops.permute(ops.reshape(x, (*x.shape[:2], *apart)), (0, *blocks, *pixels, 1))
    return ops.reshape(turned, (*turned.shape[: 1 + rank], -1))
