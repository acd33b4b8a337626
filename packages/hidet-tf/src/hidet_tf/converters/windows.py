"""What convolutions and pooling share: where channels are, strides, padding on each side."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.compute import maximum
from hidet.compute.sizes import Shape, tidy
from hidet.errors import BadArgument, NotYet
from hidet.graph import Tensor
from hidet.ir.expr import Expr
from hidet.ops.tensors.layout import to_last, to_second
from hidet.types import Size

Sides = list[tuple[int, int]]
"""What is added before and after, for each spatial axis."""


def is_last(data_format: str) -> bool:
    """Whether the channels come after the spatial axes."""
    if data_format not in ("NHWC", "NDHWC", "NCHW", "NCDHW"):
        raise NotYet(f"the data format {data_format}")
    return data_format.endswith("C")


def second(x: Tensor, data_format: str) -> Tensor:
    """An image with its channels in axis 1, where core's operators have them."""
    return ops.permute(x, to_second(x.ndim)) if is_last(data_format) else x


def restored(x: Tensor, data_format: str) -> Tensor:
    """What `second` was computed with, its channels where the model has them."""
    return ops.permute(x, to_last(x.ndim)) if is_last(data_format) else x


def spatial(values: Sequence[int], data_format: str) -> tuple[int, ...]:
    """The entries of spatial axes; those of the others are 1."""
    whole = (values[0], values[-1]) if is_last(data_format) else values[:2]
    if any(each != 1 for each in whole):
        raise NotYet(f"windows over images or channels: {list(values)} in {data_format}")
    return tuple(values[1:-1] if is_last(data_format) else values[2:])


def explicit(paddings: Sequence[int], data_format: str) -> Sides:
    """The pairs of spatial axes, of those that are listed for all axes."""
    pairs = list(zip(paddings[::2], paddings[1::2], strict=True))
    return pairs[1:-1] if is_last(data_format) else pairs[2:]


def padded(
    x: Tensor, padding: str, explicit_paddings: Sequence[int], data_format: str,
    window: Shape, strides: Sequence[int], dilations: Sequence[int], fill: float = 0.0,
) -> tuple[Tensor, Sides]:  # fmt: skip
    """x[n, c, ...], and the padding of each spatial axis that windows need.

    Where the padding depends on a symbolic size, x has it already.
    """
    rank = x.ndim - 2
    if padding == "VALID":
        return x, [(0, 0)] * rank
    if padding == "EXPLICIT":
        return x, explicit(explicit_paddings, data_format)
    if padding != "SAME":
        raise BadArgument(f"there is no padding {padding!r}", help="use SAME, VALID or EXPLICIT")
    if not all(isinstance(size, int) for size in window):
        raise NotYet("SAME padding of a window of unknown size")
    known = [size for size in window if isinstance(size, int)]
    try:
        return x, list(ops.same_padding(x.shape[2:], known, strides, dilations))
    except NotYet:
        widths = map(same, x.shape[2:], known, strides, dilations)
        return ops.pad(x, [(0, 0), (0, 0), *widths], value=fill), [(0, 0)] * rank


def same(size: Size, window: Size, stride: int, dilation: int) -> tuple[Size, Size]:
    """What SAME adds before and after an axis, also of a symbolic size; an odd element after.

    What no window reaches is cut, so that there are ceil(size / stride) windows for all to see.
    """
    reach = (window - 1) * dilation + 1
    need = tidy((-(-size // stride) - 1) * stride + reach - size)
    before = (tidy(maximum(need, 0)) if isinstance(need, Expr) else max(need, 0)) // 2
    return tidy(before), tidy(need - before)
