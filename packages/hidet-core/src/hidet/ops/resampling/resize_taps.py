"""Which elements of an axis a resized axis reads, and with which weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np

from hidet.compute import Grid, elementwise, grid, maximum, minimum, select
from hidet.compute.functions import both, floor
from hidet.compute.sizes import numbers
from hidet.errors import BadArgument, NotYet, ShapeMismatch
from hidet.graph import Op, operator
from hidet.ir.expr import Expr, constant, wrap
from hidet.ops.resampling.interpolation import cubic_weight, linear_weight, weight_arrays
from hidet.ops.resampling.whole_factors import STARTS, Starts, Weights, phases, whole_factor
from hidet.types import DType, Size, TensorType, f32, f64, i32

Mode: TypeAlias = Literal["nearest", "linear", "cubic"]
Rounding: TypeAlias = Literal["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
Coordinates: TypeAlias = Literal[
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
]


@operator("resize_taps")
class ResizeTaps(Op):
    """The elements [count, taps] of an axis of size `source` that each resized one reads.

    The second result, unless the mode is "nearest", is their weights. An index of -1 stands for a
    place outside, with "tf_crop_and_resize". All is computed in float64: a rounding that goes the
    other way is another element. Source: ONNX Resize-19.
    """

    source: Size
    count: Size
    scale: float | None
    """The new size by the old one before it was rounded down; None: `count` by `source`."""
    mode: Mode
    coordinates: Coordinates
    rounding: Rounding
    coefficient: float
    """Of the cubic convolution."""
    antialias: bool
    exclude_outside: bool
    roi: tuple[float, float]
    """Where the crop begins and ends, as fractions of the axis."""
    dtype: DType
    """The weights' type."""

    def infer(self) -> TensorType | tuple[TensorType, ...]:
        if self.mode not in get_args(Mode):
            raise BadArgument(f"there is no resize mode {self.mode!r}")
        if self.coordinates not in get_args(Coordinates):
            raise BadArgument(f"there is no coordinate mode {self.coordinates!r}")
        if self.rounding not in get_args(Rounding):
            raise BadArgument(f"there is no rounding mode {self.rounding!r}")
        if self.scale is not None and not (self.scale > 0 and math.isfinite(self.scale)):
            raise BadArgument(f"a scale of {self.scale}", help="scales are positive and finite")
        if isinstance(self.source, int) and self.source < 1:
            raise ShapeMismatch("an axis without elements cannot be resized")
        shape = (self.count, self.taps)
        return i32[shape] if self.mode == "nearest" else (i32[shape], self.dtype[shape])

    @property
    def factor_(self) -> float:
        """How much wider apart than elements the weights' function lies: below 1 to antialias."""
        if not self.antialias:
            return 1.0
        if self.scale is not None:
            return min(self.scale, 1.0)
        if isinstance(self.source, int) and isinstance(self.count, int):
            return min(self.count / self.source, 1.0)
        raise NotYet("antialias with sizes that only a call tells", help="give scales instead")

    @property
    def first(self) -> int:
        """Where the first tap is, beside the element at or before the place."""
        support = 2 if self.mode == "cubic" else 1
        return math.floor(-support / self.factor_) + 1

    @property
    def taps(self) -> int:
        """How many elements each new one reads."""
        return 1 if self.mode == "nearest" else 2 - 2 * self.first

    @property
    def times(self) -> int | None:
        """How many new elements an old one becomes, where what they read depends on their place
        among these alone."""
        plain = not (self.antialias or self.exclude_outside) and self.coordinates in STARTS
        return whole_factor(self.source, self.count, self.scale) if plain else None

    @property
    def phases(self) -> tuple[Starts, Weights]:
        """What these read."""
        factor = self.times
        assert factor is not None
        return phases(factor, self.mode, self.coordinates, self.rounding, self.coefficient)

    def define(self) -> Grid | tuple[Grid, ...]:
        place = grid((self.count,), self.place, "place")
        size = wrap(self.source)

        def held(place: Expr, index: Expr) -> Expr:
            inside = minimum(maximum(index, 0), size - 1)
            if self.coordinates != "tf_crop_and_resize":
                return inside
            last = (size - 1).cast(f64)
            return select(both(place >= 0, place <= last), inside, constant(-1, i32))

        if self.mode == "nearest":
            return grid((self.count, 1), lambda i, _: held(place[i], self.rounded(place[i])))

        def position(i: Expr, tap: Expr) -> Expr:
            return floor(place[i]).cast(i32) + (tap + self.first)

        def raw(i: Expr, tap: Expr) -> Expr:
            where = position(i, tap)
            found = self.weight((where.cast(f64) - place[i]) * self.factor_)
            if not self.exclude_outside:
                return found
            return select(both(where >= 0, where < size), found, constant(0, f64))

        shape = (self.count, self.taps)
        weight: Grid = grid(shape, raw, "weight")
        if self.antialias or self.exclude_outside:
            total = weight.sum((1,))
            weight = elementwise(lambda w, t: select(t.eq(0.0), w, w / t), weight, total)
        index = grid(shape, lambda i, tap: held(place[i], position(i, tap)), "index")
        return index, weight.cast(self.dtype)

    def weight(self, distance: Expr) -> Expr:
        """What an element at that distance counts."""
        if self.mode == "linear":
            return linear_weight(distance)
        return cubic_weight(distance, self.coefficient)

    def rounded(self, place: Expr) -> Expr:
        """The nearest element's number."""
        base = floor(place)
        rest = place - base
        further = {
            "floor": rest < 0,
            "ceil": rest > 0,
            "round_prefer_floor": rest > 0.5,
            "round_prefer_ceil": rest >= 0.5,
        }[self.rounding]
        return base.cast(i32) + further.cast(i32)

    def place(self, i: Expr) -> Expr:
        """Where in the axis, counted in elements, new element number `i` is."""
        y, size, count = i.cast(f64), wrap(self.source).cast(f64), wrap(self.count).cast(f64)
        scale = count / size if self.scale is None else constant(self.scale, f64)
        whole = count if self.scale is None else size * scale
        start, stop = self.roi
        match self.coordinates:
            case "align_corners":
                return select(whole.eq(1.0), constant(0, f64), y * (size - 1) / (whole - 1))
            case "asymmetric":
                return y / scale
            case "pytorch_half_pixel":
                return select(whole.eq(1.0), constant(-0.5, f64), (y + 0.5) / scale - 0.5)
            case "half_pixel_symmetric":
                return size / 2 * (1 - count / whole) + (y + 0.5) / scale - 0.5
            case "tf_crop_and_resize":
                span = (stop - start) * (size - 1)
                far = select(whole.eq(1.0), span / 2, y * span / (whole - 1))
                return far + start * (size - 1)
        return (y + 0.5) / scale - 0.5

    def reference(self) -> Any:
        source, count = numbers((self.source, self.count))
        place = self.places(source, count)
        outside = (place < 0) | (place > source - 1)
        outside = outside & (self.coordinates == "tf_crop_and_resize")
        if self.mode == "nearest":
            ways: dict[str, Any] = {
                "floor": np.floor,
                "ceil": np.ceil,
                "round_prefer_floor": lambda p: np.ceil(p - 0.5),
                "round_prefer_ceil": lambda p: np.floor(p + 0.5),
            }
            nearest = ways[self.rounding](place)
            return np.where(outside, -1, np.clip(nearest, 0, source - 1))[:, None]
        index = np.floor(place)[:, None] + self.first + np.arange(self.taps)
        distance = (index - place[:, None]) * self.factor_
        weight = weight_arrays(distance, self.mode == "cubic", self.coefficient)
        if self.exclude_outside:
            weight = weight * ((index >= 0) & (index < source))
        if self.antialias or self.exclude_outside:
            weight = weight / weight.sum(1, keepdims=True)
        return np.where(outside[:, None], -1, np.clip(index, 0, source - 1)), weight

    def places(self, source: int, count: int) -> Any:
        """`place` of all in numpy."""
        scale = count / source if self.scale is None else self.scale
        whole = count if self.scale is None else scale * source
        y, (start, stop) = np.arange(count), self.roi
        ends = np.array([0.0, source - 1])
        if self.coordinates == "tf_crop_and_resize":
            ends = (source - 1) * np.array([start, stop])
        if self.coordinates in ("align_corners", "tf_crop_and_resize"):
            alone = 0.0 if self.coordinates == "align_corners" else ends.mean()
            return alone + 0 * y if whole == 1 else ends[0] + y * (ends[1] - ends[0]) / (whole - 1)
        half = {"asymmetric": 0.0}.get(self.coordinates, 0.5)
        if self.coordinates == "pytorch_half_pixel" and whole == 1:
            return y * 0.0 - 0.5
        moved = self.coordinates == "half_pixel_symmetric"
        return (y + half) / scale - half + moved * source / 2 * (1 - count / whole)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        def made(
            source: int, count: int, scale: float | None, mode: Any, how: Any, **more: Any
        ) -> Any:
            given: dict[str, Any] = {
                "rounding": "round_prefer_floor", "coefficient": -0.75, "dtype": f32,
                "antialias": False, "exclude_outside": False, "roi": (0.0, 1.0),
            }  # fmt: skip
            return cls(source, count, scale, mode, how, **(given | more))

        yield made(7, 15, None, "nearest", "half_pixel")
        yield made(10, 7, 0.7, "nearest", "asymmetric", rounding="floor")
        yield made(5, 13, 2.6, "nearest", "align_corners", rounding="round_prefer_ceil")
        yield made(5, 1, None, "nearest", "pytorch_half_pixel", rounding="ceil")
        yield made(9, 5, None, "nearest", "tf_crop_and_resize", roi=(-0.2, 0.9))
        yield made(7, 17, 2.5, "linear", "half_pixel")
        yield made(7, 17, 2.5, "linear", "half_pixel_symmetric", exclude_outside=True)
        yield made(17, 5, None, "linear", "half_pixel", antialias=True)
        yield made(9, 13, None, "linear", "asymmetric", dtype=f64)
        yield made(5, 1, None, "linear", "tf_crop_and_resize", roi=(0.1, 0.7))
        yield made(7, 9, None, "cubic", "pytorch_half_pixel", exclude_outside=True)
        yield made(1, 3, None, "cubic", "align_corners")
        yield made(11, 4, 0.4, "cubic", "half_pixel", antialias=True, coefficient=-0.5)
