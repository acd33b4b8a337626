"""Swizzles: permutations of offsets that spread rows over the banks of shared memory."""

from dataclasses import dataclass
from itertools import product
from math import log2

from hidet.errors import BadArgument
from hidet.mapping.digits import Scalar, added
from hidet.mapping.draw import Cells, draw
from hidet.mapping.layout import Layout, Tree

TMA_SWIZZLE_BITS = {128: 3, 64: 2, 32: 1}


@dataclass(frozen=True)
class Swizzle:
    """Exclusive-or of `bits` bits at position `base` with those `shift` positions above.

    A negative `shift` takes the bits from below: then those at `base - shift` change. Applying a
    swizzle twice gives back the offset.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if self.bits < 0 or self.base < 0 or abs(self.shift) < self.bits:
            raise BadArgument(
                f"{self} would mix overlapping bits",
                help="bits and base are at least 0, and the shift is at least as far as bits",
            )

    def __call__(self, offset: Scalar) -> Scalar:
        """The offset that `offset` moves to."""
        if self.bits == 0:
            return offset
        mask = (1 << self.bits) - 1
        if self.shift > 0:
            return offset ^ ((offset & (mask << (self.base + self.shift))) >> self.shift)
        return offset ^ ((offset & (mask << self.base)) << -self.shift)

    @property
    def period(self) -> int:
        """The size of the aligned pieces that the swizzle permutes within themselves."""
        return 1 << (self.base + abs(self.shift) + self.bits) if self.bits else 1


def tma_swizzle(span_bytes: int, element_bytes: int = 1) -> Swizzle:
    """The hardware's swizzle of rows of `span_bytes` (128, 64 or 32), on offsets in elements.

    16-byte pieces of a row are exchanged by the number of the 128-byte line they lie in.
    Source: PTX ISA, "Tensor swizzling modes".
    """
    if span_bytes not in TMA_SWIZZLE_BITS or element_bytes not in (1, 2, 4, 8, 16):
        raise BadArgument(
            f"no swizzle of {span_bytes} bytes for elements of {element_bytes} bytes",
            help="the span is 128, 64 or 32 bytes; an element is 1, 2, 4, 8 or 16",
        )
    return Swizzle(TMA_SWIZZLE_BITS[span_bytes], 4 - int(log2(element_bytes)), 3)


@dataclass(frozen=True)
class SwizzledLayout:
    """`layout`, moved by `start`, then permuted by `swizzle`."""

    swizzle: Swizzle
    layout: Layout
    start: int = 0

    def __call__(self, *coordinates: Tree) -> Scalar:
        """The offset at one linear index, or at one coordinate for each mode."""
        return self.swizzle(added(self.layout(*coordinates), self.start))

    @property
    def shape(self) -> Tree:
        """The shape of the layout."""
        return self.layout.shape

    @property
    def rank(self) -> int:
        """The number of top-level modes."""
        return self.layout.rank

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return self.layout.size

    @property
    def cosize(self) -> int:
        """An upper bound of the offsets: the layout's, rounded up to whole periods."""
        period = self.swizzle.period
        return -(-(self.start + self.layout.cosize) // period) * period

    def is_injective(self) -> bool:
        """Whether no two coordinates share an offset."""
        return self.layout.is_injective()

    def cells(self) -> Cells:
        """The offset at each top-level coordinate."""
        extents = tuple(mode.size for mode in self.layout)
        return Cells(extents, {at: str(self(*at)) for at in product(*map(range, extents))})

    def draw(self) -> str:
        """A text grid of the offsets."""
        return draw(self)
