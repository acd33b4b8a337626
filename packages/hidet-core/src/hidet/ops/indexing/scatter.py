"""Writing at positions that tensors hold. Positions must be within range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from hidet.compute import Grid
from hidet.compute import scatter as scattered
from hidet.compute.grid import Rule
from hidet.compute.sizes import agree_shape, spelled
from hidet.errors import ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.graph.dims import axis_of
from hidet.ir.expr import Expr
from hidet.ops.indexing.index import (
    Take,
    chosen,
    positions,
    require_integers,
    source_index,
    take_shape,
)
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.shape import expand
from hidet.types import TensorType, f16, f32, i32, i64


def index_put(
    x: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    *,
    accumulate: bool = False,
    distinct: bool = False,
) -> Tensor:
    """`x` with x[indices] replaced by `values`, or with them added; the last of several wins.

    `distinct` says that no place is named twice, or that any of several may win.
    """
    axes, given = chosen(x, indices)
    shape = take_shape(x.shape, tuple(each.shape for each in given), axes)
    wide = expand(cast(values, x.dtype), shape)
    return apply(IndexPut, x, given, wide, axes=axes, accumulate=accumulate, distinct=distinct)


def index_add(x: Tensor, axis: int, index: Tensor, source: Tensor) -> Tensor:
    """`x` with `source` added at the positions along `axis` that the 1-d `index` gives."""
    where = axis_of(axis, x.ndim)
    return index_put(x, [None] * where + [index], source, accumulate=True)


def scatter(x: Tensor, axis: int, index: Tensor, source: Tensor, rule: Rule = "set_last") -> Tensor:
    """`x` with each element of `source` set, added, ... at `index` along `axis`.

    Of several for one place "set_last" keeps the last one in row-major order.
    """
    return apply(
        ScatterAlong, x, index, cast(source, x.dtype), axis=axis_of(axis, x.ndim), rule=rule
    )


@operator("index_put")
class IndexPut(Op):
    """x with x[indices] replaced by the values, or with them added."""

    x: TensorType
    indices: tuple[TensorType, ...]
    values: TensorType
    axes: tuple[int, ...]
    accumulate: bool
    in_place: bool = False
    distinct: bool = False

    def infer(self) -> TensorType:
        for each in self.indices:
            require_integers(self.name, each)
        shape = take_shape(self.x.shape, [each.shape for each in self.indices], self.axes)
        if not agree_shape(shape, self.values.shape):
            raise ShapeMismatch(
                f"values are {spelled(self.values.shape)}, the indexed part is {spelled(shape)}"
            )
        return self.x

    def define(self, x: Grid, indices: tuple[Grid, ...], values: Grid) -> Grid:
        return scattered(
            x, values.shape,
            lambda *where: source_index(x, indices, self.axes, where),
            lambda *where: values[where],
            "add" if self.accumulate else "set_one" if self.distinct else "set_last",
            self.in_place,
        )  # fmt: skip

    def reference(self, x: Any, indices: Any, values: Any) -> Any:
        out = np.array(x)
        given = dict(zip(self.axes, indices, strict=True))
        where = tuple(given.get(axis, slice(None)) for axis in range(x.ndim))
        if self.accumulate:
            np.add.at(out, where, values)
        else:
            out[where] = values
        return out

    def examples(self, seed: int) -> list[Any]:
        x, *_, values = super().examples(seed)
        return [x, *Take(self.x, self.indices, self.axes).places(self.axes, seed), values]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[11, 6], (i64[5],), f32[5, 6], (0,), False)
        yield cls(f32[11, 6], (i64[15],), f32[15, 6], (0,), True)
        yield cls(f32[3, 1, 4], (i64[1],), f32[3, 1, 4], (1,), False, distinct=True)
        yield cls(f32[4, 7], (i64[3, 1], i64[2]), f32[3, 2], (0, 1), False)
        yield cls(i32[4, 7], (i64[0],), i32[0, 7], (0,), False)


@operator("scatter")
class ScatterAlong(Op):
    """x with each source element put, or combined with what is there, at `index` along `axis`."""

    x: TensorType
    index: TensorType
    source: TensorType
    axis: int
    rule: Rule
    in_place: bool = False

    def infer(self) -> TensorType:
        require_integers(self.name, self.index)
        if not self.index.ndim == self.source.ndim == self.x.ndim:
            raise ShapeMismatch("x, index and source must have as many axes")
        for axis, (a, b) in enumerate(zip(self.index.shape, self.source.shape, strict=True)):
            if isinstance(a, int) and isinstance(b, int) and a > b:
                raise ShapeMismatch(f"index has {a} along axis {axis}, source {b}")
        return self.x

    def define(self, x: Grid, index: Grid, source: Grid) -> Grid:
        def place(*where: Expr) -> tuple[Expr, ...]:
            if not where:
                return ()
            return (*where[: self.axis], index[where], *where[self.axis + 1 :])

        return scattered(
            x, index.shape, place, lambda *where: source[where], self.rule, self.in_place
        )

    def reference(self, x: Any, index: Any, source: Any) -> Any:
        combine: dict[str, Any] = {
            "set_last": lambda a, b: b, "set_one": lambda a, b: b, "add": np.add,
            "mul": np.multiply, "min": np.minimum, "max": np.maximum,
        }  # fmt: skip
        out = np.array(x)
        for where in np.ndindex(*index.shape):
            place = list(where)
            if where:
                place[self.axis] = index[where]
            out[tuple(place)] = combine[self.rule](out[tuple(place)], source[where])
        return out

    def examples(self, seed: int) -> list[Any]:
        x, index, source = super().examples(seed)
        limit = self.x.shape[self.axis] if self.x.ndim else 1
        return [x, positions(index.shape, limit, self.index, seed), source]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 5], i64[3, 5], f32[3, 5], 0, "set_last")
        yield cls(f32[7, 5], i64[9, 4], f32[9, 5], 0, "add")
        yield cls(f32[4, 6], i32[4, 3], f32[4, 3], 1, "max")
        yield cls(i32[4, 6], i64[4, 8], i32[4, 8], 1, "mul")
        yield cls(f16[4, 6], i64[4, 8], f16[4, 8], 1, "min")
        yield cls(f32[4, 3], i64[0, 3], f32[0, 3], 0, "add")
        yield cls(f32[4, 7], i64[1, 7], f32[1, 7], 0, "set_one")
