"""Convolutions in two dimensions that keep channels apart: what both targets say of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hidet.compute import accumulator
from hidet.compute.sizes import same
from hidet.ops.windows.conv import Conv
from hidet.schedules.typical import estimated
from hidet.types import DType, Size


@dataclass(frozen=True)
class Depthwise:
    """Each output channel is one input channel, gone over with a window of its own."""

    op: Conv

    @property
    def wide(self) -> DType:
        """The type of the sums."""
        return accumulator(self.op.x.dtype)

    @property
    def images(self) -> Size:
        """How many images there are."""
        return self.op.x.shape[0]

    @property
    def channels(self) -> Size:
        """Output channels."""
        return self.op.weight.shape[0]

    @property
    def planes(self) -> Size:
        """Output channels of all images."""
        return self.images * self.channels

    @property
    def source(self) -> Any:
        """How many output channels each input channel has."""
        return self.channels // self.op.groups

    @property
    def out(self) -> tuple[Size, Size]:
        """The height and width of the result."""
        height, width = self.op.spatial()
        return height, width

    @property
    def window(self) -> tuple[int, int]:
        """The height and width of the window."""
        height, width = self.op.window
        assert isinstance(height, int)
        assert isinstance(width, int)
        return height, width

    @property
    def taps(self) -> list[tuple[int, int]]:
        """The places of the window."""
        return [(i, j) for i in range(self.window[0]) for j in range(self.window[1])]

    @property
    def elements(self) -> float:
        """Elements of the result, for estimates."""
        return float(estimated(self.planes) * estimated(self.out[0]) * estimated(self.out[1]))

    @property
    def nbytes(self) -> tuple[float, float]:
        """Bytes read and written, for estimates."""
        height, width = map(estimated, self.op.sizes)
        read = estimated(self.images) * self.op.groups * height * width
        of = self.op.x.dtype.nbytes
        return float(read * of), self.elements * of


def is_depthwise(op: Conv) -> bool:
    """Whether channels never meet, in a window of known size, and there is something to do."""
    if len(op.stride) != 2 or not same(op.each, 1) or op.groups == 1:
        return False
    if not all(isinstance(size, int) for size in op.window):
        return False
    return not any(same(size, 0) is True for size in (*op.infer().shape, *op.weight.shape))
