"""Determinants, by elimination with pivots."""

from __future__ import annotations

from hidet.errors import DtypeMismatch, ShapeMismatch
from hidet.graph import Tensor
from hidet.ops.cast import cast
from hidet.ops.compare import equal
from hidet.ops.create import iota, ones
from hidet.ops.index import gather
from hidet.ops.reduce import argmax
from hidet.ops.select import where
from hidet.ops.shape import expand, reshape
from hidet.ops.slicing import select, slice
from hidet.ops.unary import absolute
from hidet.types import f32, f64


def det(x: Tensor) -> Tensor:
    """The determinants [...] of the square matrices x[..., n, n]; n is known, the type a float.

    n - 1 steps are spelled out, each of which takes the largest element of a column as its pivot.
    Raises ShapeMismatch or DtypeMismatch. Source: ONNX Det-22.
    """
    size = x.shape[-1] if x.ndim >= 2 else None
    if not isinstance(size, int) or x.shape[-2] != size:
        raise ShapeMismatch(f"det takes square matrices of a known size, not {x.type}")
    if not x.dtype.is_float:
        raise DtypeMismatch(f"det does not take {x.dtype.name}")
    rest = cast(x, f64 if x.dtype is f64 else f32)
    found = ones(x.shape[:-2], rest.dtype, device=x.device)
    for count in range(size, 0, -1):
        place = argmax(absolute(select(rest, -1, 0)), -1, keepdims=True)
        column = reshape(place, (*place.shape, 1))
        row = gather(rest, rest.ndim - 2, expand(column, (*rest.shape[:-2], 1, count)))
        pivot = slice(row, -1, 0, 1)
        sign = -1.0 * ones((), rest.dtype, device=x.device)
        turned = where(equal(select(place, -1, 0), 0), 1.0, sign)
        found = found * reshape(pivot, found.shape) * turned
        if count > 1:
            rest = eliminated(rest, row, pivot, column)
    return cast(found, x.dtype)


def eliminated(x: Tensor, row: Tensor, pivot: Tensor, place: Tensor) -> Tensor:
    """The matrices that are left once the pivot's row and column are taken out of all others."""
    number = reshape(iota(x.shape[-2], device=x.device), (-1, 1))
    # The first row goes where the pivot's row was.
    swapped = where(equal(number, place), slice(x, -2, 0, 1), x)
    below = slice(swapped, -2, 1)
    # A pivot of zero is one of a column of zeros: then there is nothing to take out.
    factor = slice(below, -1, 0, 1) / where(equal(pivot, 0.0), 1.0, pivot)
    left: Tensor = slice(below, -1, 1) - factor * slice(row, -1, 1)
    return left
