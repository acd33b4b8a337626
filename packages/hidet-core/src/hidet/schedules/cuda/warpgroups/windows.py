"""Convolutions with channels last as warpgroups multiply them: what is together in a window."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from hidet.compute.sizes import Shape, numbers, product
from hidet.ops.windows.conv import Conv
from hidet.schedules.convolution import ChannelsLast
from hidet.schedules.cuda.warpgroups.operand import depth_of
from hidet.schedules.typical import estimated


@dataclass(frozen=True)
class Windows(ChannelsLast):
    """Rows are places of the result; a part of a window is one place of it."""

    @property
    def parts(self) -> Shape:
        """The window as a grid of parts."""
        return self.op.window

    @property
    def together(self) -> int:
        """Neighbours of x in each part."""
        return numbers((self.op.each,))[0]

    @property
    def copies(self) -> float:
        """Rows that copies load for all windows."""
        pieces = -(-self.together // depth_of(self.a.dtype))
        return float(estimated(self.m) * estimated(product(self.parts)) * pieces)


@dataclass(frozen=True)
class Sliding(Windows):
    """Rows are places of x, of which those are dropped where no window begins; a part of a window
    is one row of it: neighbours in x, as long as steps are single ones and nothing is padded."""

    @cached_property
    def places(self) -> Shape:
        """Images and the spatial sizes of x."""
        return self.op.x.shape[:-1]

    @property
    def parts(self) -> Shape:
        return self.op.window[:-1]

    @property
    def together(self) -> int:
        width, each = numbers((self.op.window[-1], self.op.each))
        return width * each


@lru_cache(maxsize=1024)
def windows_of(op: Conv) -> Windows:
    """The form that needs fewer copies."""
    plain, sliding = Windows(op), Sliding(op)
    return sliding if slides(op) and sliding.copies < plain.copies else plain


def slides(op: Conv) -> bool:
    """Whether windows side by side begin at places side by side, and their rows lie together."""
    padded = any(pair != (0, 0) for pair in op.padding)
    return set(op.stride) == {1} and not padded and op.dilation[-1] == 1
