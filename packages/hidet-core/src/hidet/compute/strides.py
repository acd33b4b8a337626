"""Memory seen as a tensor by strides, and what is seen of a tensor that is a part of another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hidet.compute.places import ravel, unravel
from hidet.compute.sizes import Shape, product, same_shape, tidy
from hidet.ir.algebra import simplify_expression
from hidet.ir.bounds import Bounds, Range
from hidet.ir.expr import Expr, Var, wrap
from hidet.ir.linear import Form, Terms, as_int, express
from hidet.ir.walk import variables
from hidet.types import Size, i32

NATURAL = Range(0, None)


@dataclass(frozen=True)
class StridedView:
    """Memory as a tensor of `shape`: the element at (i, j, ...) is number
    `offset + i * strides[0] + j * strides[1] + ...` of it."""

    shape: Shape
    strides: Shape
    offset: Size = 0

    def number(self, index: Sequence[Expr]) -> Expr:
        """The number of the element at an index."""
        place = wrap(self.offset)
        for at, stride in zip(index, self.strides, strict=True):
            place = place + at * stride
        return place


def row_strides(shape: Sequence[Size]) -> list[Size]:
    """How far apart elements along each axis lie in rows."""
    return [product(shape[axis + 1 :]) for axis in range(len(shape))]


def in_rows(shape: Sequence[Size]) -> StridedView:
    """A tensor in row-major order without gaps."""
    return StridedView(tuple(shape), tuple(row_strides(shape)))


def seen_through(
    view: StridedView,
    shape: Shape,
    source: Shape,
    read: Callable[[tuple[Expr, ...]], Sequence[Expr]],
) -> StridedView | None:
    """What `view` sees of a tensor of `shape` that is a part of another one, of shape `source`, as
    a view of that; None if no strides describe it.

    `read` gives the index in the other one of the element at an index of the tensor. Along an axis
    of one element the stride is that of `view`.
    """
    names = tuple(Var(f"i{axis}", i32) for axis in range(len(view.shape)))
    whole = same_shape(view.shape, shape) and view == in_rows(shape)
    index = names if whole else unravel(view.number(names), shape)
    found = linear(ravel(read(index), source), dict(zip(names, view.shape, strict=True)))
    if found is None:
        return None
    offset, steps = found
    pairs = zip(view.shape, steps, view.strides, strict=True)
    strides = (old if size == 1 else new for size, new, old in pairs)
    return StridedView(view.shape, tuple(strides), offset)


def linear(e: Expr, extents: Mapping[Var, Size]) -> tuple[Size, tuple[Size, ...]] | None:
    """The number and the factors by which `e` is a number plus a sum of multiples of variables,
    each of which counts from 0 to before its extent; None if it is not known to be that."""
    symbols = {each for size in extents.values() for each in free(size)}
    bounds = Bounds({each: NATURAL for each in (*symbols, *variables(e)) if each not in extents})
    for var, extent in extents.items():
        bounds = bounds.count(var, wrap(extent))
    found: dict[Expr | None, dict[tuple[Expr, ...], int]] = {}
    for atoms, count in Terms().form(simplify_expression(e, bounds)).items():
        moving = [each for each in atoms if not extents.keys().isdisjoint(variables(each))]
        if len(moving) > 1 or not extents.keys() >= set(moving):
            return None
        rest = tuple(each for each in atoms if each not in moving)
        found.setdefault(next(iter(moving), None), {})[rest] = count
    offset, *factors = (as_size(found.get(each, {})) for each in (None, *extents))
    return offset, tuple(factors)


def free(size: Size) -> Sequence[Var]:
    """The symbols of a size."""
    return () if isinstance(size, int) else tuple(variables(size))


def as_size(form: Form) -> Size:
    """A sum as a size."""
    number = as_int(form)
    return tidy(express(form, i32)) if number is None else number
