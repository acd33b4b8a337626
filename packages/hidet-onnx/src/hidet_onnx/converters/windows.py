"""The attributes that convolutions and pooling share: strides, dilations, padding on each side."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.compute.sizes import Shape
from hidet.errors import BadArgument, NotYet

MOST = 2**31 - 1
"""The largest stride, dilation and padding: kernels count positions in 32 bits."""

Sides = list[tuple[int, int]]
"""What is added before and after, for each spatial axis."""


def each(given: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """One number for each spatial axis, by default 1."""
    found = (1,) * rank if not given else tuple(given)
    if len(found) != rank or min(found, default=1) < 1 or max(found, default=1) > MOST:
        raise BadArgument(f"{list(found)} are no {rank} positive numbers, one for each axis")
    return found


def explicit(pads: Sequence[int] | None, rank: int) -> Sides:
    """ONNX's padding, all that is before and then all that is after, by axis."""
    if not pads:
        return [(0, 0)] * rank
    if len(pads) != 2 * rank or max(map(abs, pads)) > MOST:
        raise BadArgument(f"pads {list(pads)} are not two numbers for each of {rank} axes")
    return [(pads[axis], pads[axis + rank]) for axis in range(rank)]


def padding(
    auto_pad: str, pads: Sequence[int] | None, sizes: Shape, window: Shape,
    strides: Sequence[int], dilations: Sequence[int],
) -> Sides:  # fmt: skip
    """The padding of each axis of these sizes, said or computed so that `auto_pad` holds."""
    if auto_pad in ("NOTSET", ""):
        return explicit(pads, len(sizes))
    if auto_pad == "VALID":
        return [(0, 0)] * len(sizes)
    if auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        raise BadArgument(f"there is no auto_pad {auto_pad!r}")
    if not all(isinstance(size, int) for size in window):
        raise NotYet(f"auto_pad {auto_pad} of a window of unknown size")
    known = [size for size in window if isinstance(size, int)]
    return list(ops.same_padding(sizes, known, strides, dilations, upper=auto_pad == "SAME_UPPER"))
