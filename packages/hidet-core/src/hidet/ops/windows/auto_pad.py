"""Padding that gives as many windows as there are strides, as TensorFlow's "SAME" does."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.errors import NotYet
from hidet.types import Size


def same_padding(
    sizes: Sequence[Size], window: Sequence[int], stride: Sequence[int], dilation: Sequence[int],
    *, upper: bool = True,
) -> tuple[tuple[int, int], ...]:  # fmt: skip
    """(before, after) for each axis so that there are ceil(size / stride) windows.

    An odd element goes after ("SAME_UPPER"), or before unless `upper`. Raises NotYet for a symbolic
    size with a stride above 1: the padding would depend on the call.
    """
    found = []
    for size, w, s, d in zip(sizes, window, stride, dilation, strict=True):
        reach = (w - 1) * d + 1
        if s == 1:
            need = reach - 1
        elif isinstance(size, int):
            need = max(0, (-(-size // s) - 1) * s + reach - size)
        else:
            raise NotYet("padding that depends on a symbolic size", help="give the padding")
        small, large = need // 2, need - need // 2
        found.append((small, large) if upper else (large, small))
    return tuple(found)
