"""Where an index lies in row-major order, and which index lies there."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.compute.sizes import same
from hidet.ir.expr import Const, Expr, Value, wrap
from hidet.types import Size, i32


def ravel(index: Sequence[Expr], shape: Sequence[Size]) -> Expr:
    """The row-major place of `index` in `shape`; axes of size 1 do not count."""
    place: Expr | None = None
    for e, size in zip(index, shape, strict=True):
        if same(size, 1) is not True:
            place = e if place is None else place * size + e
    return Const(0, i32) if place is None else place


def unravel(place: Value, shape: Sequence[Size]) -> tuple[Expr, ...]:
    """The index of element number `place`, which is in `shape`; axes of size 1 get 0."""
    index: list[Expr] = [Const(0, i32)] * len(shape)
    real = [axis for axis, size in enumerate(shape) if same(size, 1) is not True]
    for axis in reversed(real[1:]):
        index[axis] = wrap(place % shape[axis])
        place = place // shape[axis]
    if real:
        index[real[0]] = wrap(place)
    return tuple(index)
