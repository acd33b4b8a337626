"""Images sampled at positions that a tensor holds, and the positions of an affine map."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from hidet.compute import Grid, accumulator, grid, maximum, minimum, select
from hidet.compute.functions import both, floor, rint
from hidet.compute.sizes import numbers, product, same
from hidet.errors import BadArgument, DtypeMismatch, ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, constant, wrap
from hidet.ops.products.matmul import matmul
from hidet.ops.resampling.interpolation import added, cubic_weight, linear_weight, weight_arrays
from hidet.ops.resampling.resize_taps import Mode
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import iota, ones, zeros
from hidet.ops.tensors.joining import concat
from hidet.ops.tensors.shape import expand, reshape
from hidet.types import Size, TensorType, f16, f32, f64, i32

Padding: TypeAlias = Literal["zeros", "border", "reflection"]
CUBIC = -0.75


def grid_sample(
    x: Tensor, places: Tensor, *, mode: Mode = "linear", padding: Padding = "zeros",
    align_corners: bool = False,
) -> Tensor:  # fmt: skip
    """[n, c, *out] with x[n, c, *image] read at places[n, *out, rank], whose last axis is x first.

    A place of -1 is the first element along an axis and 1 the last one with `align_corners`; else
    they are the outer edges of these. Outside there are "zeros", the "border" goes on, or the image
    is mirrored ("reflection"). Both operands are floating-point, and of any rank. Raises
    ShapeMismatch, DtypeMismatch or BadArgument. Source: ONNX GridSample-22, torch's grid_sample.
    """
    return apply(
        GridSample, x, places, mode=mode, padding=padding, align_corners=align_corners
    )  # fmt: skip


def affine_grid(theta: Tensor, size: Sequence[Size], *, align_corners: bool = False) -> Tensor:
    """The places [n, *size, rank] for `grid_sample` that theta[n, rank, rank + 1] maps the grid to.

    `size` are the 2 or 3 sizes of the image to be made. Source: ONNX AffineGrid-20.
    """
    rank = len(size)
    if theta.ndim != 3 or theta.shape[1:] != (rank, rank + 1):
        raise ShapeMismatch(f"an affine map of {rank} axes is [n, {rank}, {rank + 1}]")
    columns = [axis_places(size, axis, theta, align_corners) for axis in reversed(range(rank))]
    columns.append(ones((*size, 1), theta.dtype, device=theta.device))
    flat = reshape(concat(columns, -1), (product(size), rank + 1))
    return reshape(matmul(flat, theta, transpose_b=True), (theta.shape[0], *size, rank))


def axis_places(size: Sequence[Size], axis: int, like: Tensor, align_corners: bool) -> Tensor:
    """Where the elements along an axis are, from -1 to 1: [*size, 1]."""
    count, shape = size[axis], tuple(-1 if each == axis else 1 for each in range(len(size) + 1))
    if align_corners and same(count, 1):
        return zeros((*size, 1), like.dtype, device=like.device)
    steps = iota(count, dtype=f64, device=like.device) * 2 - (count - 1)
    found = cast(steps / (count - 1 if align_corners else count), like.dtype)
    return expand(reshape(found, shape), (*size, 1))


@operator("grid_sample")
class GridSample(Op):
    """x[n, c, ...] read at the places [n, ..., rank], which count from -1 to 1."""

    x: TensorType
    places: TensorType
    mode: Mode
    padding: Padding
    align_corners: bool

    factor: ClassVar[float] = 64
    within: ClassVar[tuple[float, float]] = (-1.7, 1.7)

    def infer(self) -> TensorType:
        rank = self.x.ndim - 2
        if rank < 1 or self.places.ndim != rank + 2 or not same(self.places.shape[-1], rank):
            raise ShapeMismatch(f"grid_sample of {self.x} at {self.places}")
        if same(self.x.shape[0], self.places.shape[0]) is False:
            raise ShapeMismatch(f"{self.x.shape[0]} images, but places for {self.places.shape[0]}")
        if not (self.x.dtype.is_float and self.places.dtype.is_float):
            raise DtypeMismatch("grid_sample takes floating-point images and places")
        if self.mode not in ("nearest", "linear", "cubic"):
            raise BadArgument(f"there is no mode {self.mode!r}")
        if self.padding not in ("zeros", "border", "reflection"):
            raise BadArgument(f"there is no padding {self.padding!r}")
        return self.x.dtype[(*self.x.shape[:2], *self.places.shape[1:-1])]

    @property
    def taps(self) -> int:
        """How many elements of an axis count."""
        return {"nearest": 1, "linear": 2, "cubic": 4}[self.mode]

    def define(self, x: Grid, places: Grid) -> Grid:
        wide = f64 if f64 in (self.x.dtype, self.places.dtype) else f32
        sum_type = accumulator(x.dtype)
        sizes = x.shape[2:]

        def element(n: Expr, c: Expr, *where: Expr) -> Expr:
            found = [
                self.centre(places[(n, *where, len(sizes) - 1 - axis)].cast(wide), size)
                for axis, size in enumerate(sizes)
            ]

            def term(*taps: Expr) -> Expr:
                index, tests = [], []
                weight: Expr = constant(1, wide)
                for place, tap, size in zip(found, taps, sizes, strict=True):
                    base = rint(place) if self.mode == "nearest" else floor(place)
                    step = tap - int(self.mode == "cubic")
                    number = base.cast(i32) + step
                    if self.mode != "nearest":
                        # The fraction first: far away a step would be lost.
                        weight = weight * self.weight(step.cast(wide) - (place - base))
                    index.append(self.held(number, size))
                    tests += [number >= 0, number < size] if self.padding == "zeros" else []
                value = x[(n, c, *index)].cast(sum_type)
                value = value if self.mode == "nearest" else value * weight.cast(sum_type)
                return select(both(*tests), value, constant(0, sum_type)) if tests else value

            return added((self.taps,) * len(sizes), term).cast(x.dtype)

        return grid(self.infer().shape, element)

    def centre(self, place: Expr, size: Size) -> Expr:
        """The place counted in elements; one that is far outside comes near, so that it fits."""
        whole = wrap(size).cast(place.dtype)
        if self.align_corners:
            found = (place + 1) / 2 * (whole - 1)
        else:
            found = ((place + 1) * whole - 1) / 2
        return maximum(minimum(found, 1e9), -1e9)

    def weight(self, distance: Expr) -> Expr:
        """What an element at that distance counts."""
        return linear_weight(distance) if self.mode == "linear" else cubic_weight(distance, CUBIC)

    def held(self, number: Expr, size: Size) -> Expr:
        """The element that stands for number `number` of an axis, which may lie outside."""
        last = wrap(size) - 1
        if self.padding != "reflection":
            return maximum(minimum(number, last), 0)
        if self.align_corners:
            # One round is there and back, without repeating the ends; of one element it is 1.
            round_ = maximum(2 * last, 1)
            there = number % round_
            return minimum(there, round_ - there) if not same(size, 1) else number * 0
        there = number % (2 * wrap(size))
        return minimum(there, 2 * wrap(size) - 1 - there)

    def reference(self, x: Any, places: Any) -> Any:
        rank, sizes = x.ndim - 2, x.shape[2:]
        out = np.zeros((*x.shape[:2], *places.shape[1:-1]))
        first = {"nearest": 0, "linear": 0, "cubic": -1}[self.mode]
        for n, taps in itertools.product(range(len(x)), np.ndindex(*(self.taps,) * rank)):
            index, weight, inside = [], np.ones(out.shape[2:]), np.ones(out.shape[2:], bool)
            for axis, (size, tap) in enumerate(zip(sizes, taps, strict=True)):
                p = places[n, ..., rank - 1 - axis]
                at = (p + 1) / 2 * (size - 1) if self.align_corners else ((p + 1) * size - 1) / 2
                if self.mode == "nearest":
                    number = np.rint(at)
                else:
                    number = np.floor(at) + tap + first
                    weight = weight * weight_arrays(number - at, self.mode == "cubic", CUBIC)
                inside &= (number >= 0) & (number < size)
                index.append(self.mirrored(number.astype(int), size))
            value = x[n][(slice(None), *index)] * weight
            out[n] += value if self.padding != "zeros" else np.where(inside, value, 0)
        return out

    def mirrored(self, number: Any, size: int) -> Any:
        """The elements of an axis continued by numpy's own padding."""
        mode = {"reflection": "reflect" if self.align_corners else "symmetric"}
        low, high = max(0, -number.min(initial=0)), max(0, number.max(initial=0) - size + 1)
        how: Any = "edge" if size == 1 else mode.get(self.padding, "edge")
        return np.pad(np.arange(size), (low, high), mode=how)[number + low]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[2, 3, 5, 7], f32[2, 4, 3, 2], "linear", "zeros", False)
        yield cls(f32[1, 2, 5, 7], f32[1, 4, 3, 2], "linear", "border", True)
        yield cls(f16[1, 2, 5, 7], f32[1, 4, 3, 2], "linear", "reflection", False)
        yield cls(f32[1, 2, 5, 7], f32[1, 4, 3, 2], "nearest", "reflection", True)
        yield cls(f32[1, 2, 5, 7], f32[1, 4, 3, 2], "nearest", "zeros", False)
        yield cls(f32[1, 2, 5, 7], f32[1, 4, 3, 2], "cubic", "zeros", False)
        yield cls(f64[1, 2, 5, 7], f64[1, 4, 3, 2], "cubic", "reflection", True)
        yield cls(f32[1, 2, 3, 5, 4], f32[1, 2, 1, 3, 3], "linear", "border", False)
        yield cls(f32[1, 1, 3, 5, 4], f32[1, 2, 1, 3, 3], "cubic", "border", True)
        yield cls(f32[2, 2, 9], f32[2, 5, 1], "linear", "reflection", True)
        yield cls(f32[1, 1, 1, 2], f32[1, 3, 3, 2], "linear", "reflection", True)

    def examples(self, seed: int) -> list[Any]:
        x, places = super().examples(seed)
        # Nearest elements are read between two places at which they change.
        sizes = numbers(self.x.shape[2:])[::-1]
        if self.mode == "nearest":
            random = np.random.default_rng(seed)
            for axis, size in enumerate(sizes):
                at = random.integers(-size, 2 * size, places.shape[:-1]) + 0.25
                scaled = 2 * at / (size - 1) - 1 if self.align_corners else (2 * at + 1) / size - 1
                places[..., axis] = scaled
        return [x, places]
