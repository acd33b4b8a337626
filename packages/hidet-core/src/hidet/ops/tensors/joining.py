"""Concatenation, stacking and repetition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, grid, select
from hidet.compute.sizes import agree, numbers, same, spelled, tidy
from hidet.errors import BadArgument, DtypeMismatch, ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.graph.dims import axis_of
from hidet.graph.operands import no_tensor
from hidet.ir.expr import Expr
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.shape import reshape, unsqueeze
from hidet.types import Size, TensorType, f16, f32, i32, promote


def concat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """The tensors one after the other along `axis`; mixed types promote."""
    listed = several("concat", tensors)
    common = reduce(promote, (each.dtype for each in listed))
    parts = tuple(cast(each, common) for each in listed)
    if len(parts) == 1:
        return parts[0]
    return apply(Concat, parts, axis=axis_of(axis, parts[0].ndim))


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """The tensors along a new axis."""
    listed = several("stack", tensors)
    where = axis_of(axis, listed[0].ndim + 1)
    return concat([unsqueeze(each, where) for each in listed], where)


def several(name: str, tensors: Any) -> tuple[Tensor, ...]:
    """The tensors of a list, which has some; BadArgument for anything else."""
    if not isinstance(tensors, Sequence):
        raise BadArgument(f"{name} takes a list of tensors, not {type(tensors).__name__}")
    if not tensors:
        raise BadArgument(f"{name} of no tensors")
    for each in tensors:
        if not isinstance(each, Tensor):
            raise no_tensor(name, each)
    return tuple(tensors)


def tile(x: Tensor, counts: Size | Sequence[Size]) -> Tensor:
    """`x` repeated as a whole, `counts` times along each axis; missing axes are added in front."""
    counts = tuple(counts) if isinstance(counts, Sequence) else (counts,)
    rank = max(x.ndim, len(counts))
    wide = reshape(x, (1,) * (rank - x.ndim) + x.shape)
    times = (1,) * (rank - len(counts)) + tuple(counts)
    return wide if all(same(n, 1) for n in times) else apply(Tile, wide, counts=times)


@operator("concat")
class Concat(Op):
    """Tensors of one type, one after the other along `axis`."""

    tensors: tuple[TensorType, ...]
    axis: int

    def infer(self) -> TensorType:
        first = self.tensors[0]
        for each in self.tensors[1:]:
            if each.dtype is not first.dtype:
                raise DtypeMismatch(f"concat of {first.dtype.name} and {each.dtype.name}")
            if each.ndim != first.ndim or not all(
                axis == self.axis or agree(a, b)
                for axis, (a, b) in enumerate(zip(each.shape, first.shape, strict=True))
            ):
                raise ShapeMismatch(
                    f"concat of {spelled(first.shape)} and {spelled(each.shape)} along axis "
                    f"{self.axis}",
                    help="the other sizes must agree",
                )
        total: Size = tidy(sum((each.shape[self.axis] for each in self.tensors), 0))
        return first.dtype[*first.shape[: self.axis], total, *first.shape[self.axis + 1 :]]

    def define(self, tensors: tuple[Grid, ...]) -> Grid:
        ends: list[Size] = [0]
        for each in tensors:
            ends.append(tidy(ends[-1] + each.shape[self.axis]))

        def element(*index: Expr) -> Expr:
            found: Expr | None = None
            for each, start, end in reversed(list(zip(tensors, ends[:-1], ends[1:], strict=True))):
                own = list(index)
                own[self.axis] = (
                    index[self.axis] - start if start is not ends[0] else own[self.axis]
                )
                value = each[tuple(own)]
                found = value if found is None else select(index[self.axis] < end, value, found)
            assert found is not None
            return found

        return grid(self.infer().shape, element)

    def reference(self, tensors: Any) -> Any:
        return np.concatenate(tensors, self.axis)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls((f32[7, 5], f32[7, 9], f32[7, 1]), 1)
        yield cls((f16[3, 4, 2], f16[1, 4, 2]), 0)
        yield cls((i32[4], i32[0], i32[3]), 0)


@operator("tile")
class Tile(Op):
    """x repeated as a whole along each axis."""

    x: TensorType
    counts: tuple[Size, ...]

    def infer(self) -> TensorType:
        if len(self.counts) != self.x.ndim:
            raise ShapeMismatch(f"{len(self.counts)} counts for {self.x.ndim} dimensions")
        return self.x.dtype[
            tuple(tidy(size * n) for size, n in zip(self.x.shape, self.counts, strict=True))
        ]

    def define(self, x: Grid) -> Grid:
        return grid(
            self.infer().shape,
            lambda *index: x[
                tuple(
                    i if same(n, 1) else i % size
                    for i, n, size in zip(index, self.counts, x.shape, strict=True)
                )
            ],
        )

    def reference(self, x: Any) -> Any:
        return np.tile(x, numbers(self.counts))

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[3, 5], (2, 3))
        yield cls(f16[2, 1, 4], (1, 3, 1))
        yield cls(i32[3, 2], (0, 2))
