"""Symbolic sizes: sizes of shapes that are known only when the graph runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import SupportsIndex

from hidet.compute.sizes import (
    Shape,
    agree,
    broadcast,
    product,
    quotient,
    same,
    same_shape,
    spelled,
    tidy,
)
from hidet.errors import BadArgument, ShapeMismatch
from hidet.ir.expr import Var
from hidet.types import Size, i32


def size_symbol(name: str) -> Var:
    """A size that is not known yet; every call gives another one."""
    return Var(name, i32)


def reshaped(shape: Sequence[Size], wanted: Sequence[Size]) -> Shape:
    """`wanted` with its one -1 worked out, checked against the number of elements of `shape`."""
    unknown = [axis for axis, size in enumerate(wanted) if isinstance(size, int) and size == -1]
    if len(unknown) > 1:
        raise ShapeMismatch(f"more than one size of {spelled(wanted)} is -1")
    out = [tidy(size) for size in wanted]
    total = product(shape)
    if unknown:
        rest = product(size for axis, size in enumerate(out) if axis not in unknown)
        out[unknown[0]] = found = _missing(total, rest)
        if found == -1:
            raise ShapeMismatch(f"cannot reshape {spelled(shape)} to {spelled(wanted)}")
    elif not agree(total, product(out)):
        raise ShapeMismatch(
            f"cannot reshape {spelled(shape)} to {spelled(wanted)}",
            help=f"{total} elements are not {product(out)}",
        )
    return tuple(out)


def _missing(total: Size, rest: Size) -> Size:
    """What `rest` must be multiplied by to give `total`; -1 if nothing does for certain."""
    if isinstance(rest, int) and rest == 0:
        return -1
    found = quotient(total, rest)
    return -1 if found is None else found


def axis_of(axis: int, ndim: int, what: str = "axis") -> int:
    """The axis counted from the front; an axis of a 0-d tensor may be 0 or -1."""
    if not isinstance(axis, SupportsIndex):
        raise BadArgument(f"an {what} is a whole number, not {type(axis).__name__}")
    limit, axis = max(ndim, 1), int(axis)
    if not -limit <= axis < limit:
        raise ShapeMismatch(f"{what} {axis} is outside of a tensor of {ndim} dimensions")
    return axis % limit


def axes_of(axes: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front, in order; all of them for None."""
    if axes is None:
        return tuple(range(ndim))
    given = tuple(axes) if isinstance(axes, Sequence) else (axes,)
    found = sorted(axis_of(axis, ndim) for axis in given)
    if len(set(found)) != len(found):
        raise ShapeMismatch(f"axes {given} name one axis twice")
    return tuple(found) if ndim else ()


__all__ = [
    "Shape",
    "axes_of",
    "axis_of",
    "broadcast",
    "product",
    "quotient",
    "reshaped",
    "same",
    "same_shape",
    "size_symbol",
    "spelled",
    "tidy",
]
