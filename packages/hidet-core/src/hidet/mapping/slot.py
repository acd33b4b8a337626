"""Where a tensor lies that is a part of a larger one."""

from dataclasses import dataclass
from functools import reduce

from hidet.mapping.digits import Scalar, added, scaled


@dataclass(frozen=True)
class Slot:
    """The offsets of a box, from `starts` on, in a row-major tensor of shape `whole`.

    Sizes and starts may be expressions.
    """

    whole: tuple[Scalar, ...]
    starts: tuple[Scalar, ...]

    def __call__(self, *index: Scalar) -> Scalar:
        """The offset in the whole tensor of an element of the part."""
        total: Scalar = 0
        for at, start, size in zip(index, self.starts, self.whole, strict=True):
            total = added(scaled(total, size), added(at, start))
        return total

    @property
    def cosize(self) -> Scalar:
        """The elements of the whole tensor."""
        return reduce(scaled, self.whole)

    def __str__(self) -> str:
        starts, whole = (", ".join(map(str, each)) for each in (self.starts, self.whole))
        return f"({starts}) in ({whole})"
