"""Regions of images, each sampled at one size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np

from hidet.compute import Grid, accumulator, grid, maximum, minimum, reduce, select
from hidet.compute.functions import both, ceil, floor
from hidet.compute.sizes import numbers
from hidet.errors import BadArgument, DtypeMismatch, NotYet, ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, constant, wrap
from hidet.ops.indexing.index import positions, require_integers
from hidet.types import TensorType, f16, f32, f64, i32, i64


def roi_align(
    x: Tensor, rois: Tensor, batch: Tensor, size: tuple[int, int], *, scale: float = 1.0,
    samples: int = 0, half_pixel: bool = True, mode: Literal["avg", "max"] = "avg",
) -> Tensor:  # fmt: skip
    """[rois, c, *size]: in each bin of rois[k, 4] the mean of `samples` · `samples` places of x.

    A region is (left, top, right, bottom) in the image number batch[k] of x[n, c, h, w], times
    `scale`, less half an element with `half_pixel`; else it is at least one element large. The
    places are read by linear interpolation. 0 `samples` are as many as a bin has elements, rounded
    up. "max" takes the greatest single term of the interpolation (ONNX RoiAlign-22).
    Raises ShapeMismatch, DtypeMismatch, or NotYet for "max" without a number of samples.
    Source: He et al. 2017, arXiv 1703.06870.
    """
    return apply(
        RoiAlign, x, rois, batch, size=tuple(size), scale=scale, ratio=samples,
        half_pixel=half_pixel, mode=mode,
    )  # fmt: skip


@operator("roi_align")
class RoiAlign(Op):
    """Regions of x[n, c, h, w] in bins, each the mean of interpolated places."""

    x: TensorType
    rois: TensorType
    batch: TensorType
    size: tuple[int, int]
    scale: float
    ratio: int
    half_pixel: bool
    mode: str

    factor: ClassVar[float] = 64

    def infer(self) -> TensorType:
        if self.x.ndim != 4 or self.rois.ndim != 2 or self.rois.shape[1] != 4:
            raise ShapeMismatch(f"regions {self.rois} of images {self.x}")
        if not (self.x.dtype.is_float and self.rois.dtype.is_float):
            raise DtypeMismatch("roi_align takes floating-point images and regions")
        require_integers(self.name, self.batch)
        if self.mode not in ("avg", "max") or self.ratio < 0 or min(self.size) < 1:
            raise BadArgument(f"roi_align by {self.mode!r} of {self.ratio} samples")
        if self.mode == "max" and not self.ratio:
            raise NotYet("the maximum of a number of samples that depends on the region")
        return self.x.dtype[(self.rois.shape[0], self.x.shape[1], *self.size)]

    def define(self, x: Grid, rois: Grid, batch: Grid) -> Grid:
        wide = f64 if f64 in (self.x.dtype, self.rois.dtype) else f32
        image = x.shape[2:]

        def element(k: Expr, c: Expr, *bins: Expr) -> Expr:
            spans = [self.span(rois, k, axis, bins[axis], wide) for axis in (0, 1)]
            n = batch[k].cast(i32)
            limit = [self.ratio or 2 * size + 3 for size in image]

            def term(*at: Expr) -> Expr:
                places, tests = [], []
                for (first, step, count), size, number in zip(spans, image, at, strict=True):
                    number, within = self.counted(number, first, step, count)
                    place = first + (number + 0.5) * step
                    places.append(place)
                    tests += [*within, place >= -1, place <= wrap(size).cast(wide)]
                value = self.read(x, n, c, places)
                return select(both(*tests), value, constant(0, value.dtype))

            total = reduce(limit, term, "sum" if self.mode == "avg" else "max")
            if self.mode == "avg":
                total = total / maximum(spans[0][2] * spans[1][2], 1).cast(total.dtype)
            return total.cast(x.dtype)

        return grid(self.infer().shape, element)

    def span(self, rois: Grid, k: Expr, axis: int, bin_: Expr, wide: Any) -> tuple[Expr, ...]:
        """Where a bin begins along an axis (0: down), the way between samples, and their number."""
        offset = 0.5 if self.half_pixel else 0.0
        start = rois[k, 1 - axis].cast(wide) * self.scale - offset
        end = rois[k, 3 - axis].cast(wide) * self.scale - offset
        length = end - start if self.half_pixel else maximum(end - start, 1.0)
        each = length / self.size[axis]
        count = constant(self.ratio, i32) if self.ratio else ceil(each).cast(i32)
        return start + bin_.cast(wide) * each, each / maximum(count, 1).cast(wide), count

    def counted(
        self, number: Expr, first: Expr, step: Expr, count: Expr
    ) -> tuple[Expr, list[Expr]]:
        """Which sample it is, and whether there is it.

        A region may be larger than the image: counting begins at the first sample that is inside,
        so that twice as many as elements are enough, as samples are at least half of one apart.
        """
        if self.ratio:
            return number.cast(step.dtype), []
        skipped = maximum(floor((-1 - first) / step - 0.5), 0.0)
        found = number.cast(step.dtype) + skipped
        return found, [found < count.cast(step.dtype)]

    def read(self, x: Grid, n: Expr, c: Expr, places: list[Expr]) -> Expr:
        """The image at a place, by linear interpolation: all four terms added, or the greatest."""
        sum_type = accumulator(x.dtype)
        near: list[list[tuple[Expr, Expr]]] = []
        for place, size in zip(places, x.shape[2:], strict=True):
            last = wrap(size) - 1
            held = maximum(minimum(place, last.cast(place.dtype)), 0.0)
            base = floor(held)
            low, rest = base.cast(i32), held - base
            near.append([(low, 1 - rest), (minimum(low + 1, last), rest)])
        terms = [
            x[n, c, row, column].cast(sum_type) * (a * b).cast(sum_type)
            for row, a in near[0]
            for column, b in near[1]
        ]
        first, *more = terms
        for each in more:
            first = first + each if self.mode == "avg" else maximum(first, each)
        return first

    def reference(self, x: Any, rois: Any, batch: Any) -> Any:
        out = np.zeros((len(rois), x.shape[1], *self.size))
        for k, c, i, j in np.ndindex(*out.shape):
            along = [
                self.sampled(rois[k], 0, i, x.shape[2]),
                self.sampled(rois[k], 1, j, x.shape[3]),
            ]
            values = [
                self.combined(x[batch[k], c][np.ix_(rows, columns)] * np.outer(a, b))
                for rows, a in along[0]
                for columns, b in along[1]
            ]
            if values:
                out[k, c, i, j] = np.mean(values) if self.mode == "avg" else np.max(values)
        return out

    def combined(self, terms: Any) -> Any:
        """For the reference: the four terms of an interpolation."""
        return terms.sum() if self.mode == "avg" else terms.max()

    def sampled(self, roi: Any, axis: int, bin_: int, size: int) -> list[tuple[list[int], Any]]:
        """For the reference: for each sample of a bin two elements and their weights."""
        start, end = roi[[1 - axis, 3 - axis]] * self.scale - 0.5 * self.half_pixel
        length = end - start if self.half_pixel else max(end - start, 1.0)
        each = length / self.size[axis]
        count = self.ratio or int(np.ceil(each))
        found = []
        for place in start + each * (bin_ + (np.arange(count) + 0.5) / max(count, 1)):
            low = int(np.clip(np.floor(place), 0, size - 1))
            rest = np.clip(place - low, 0, 1) if low < size - 1 else 0.0
            weights = np.array([1 - rest, rest]) * (-1 <= place <= size)
            found.append(([low, min(low + 1, size - 1)], weights))
        return found

    def examples(self, seed: int) -> list[Any]:
        x, rois, batch = super().examples(seed)
        random = np.random.default_rng(seed)
        height, width = numbers(self.x.shape[2:])
        corner = random.uniform(-0.2, 0.6, (len(rois), 2)) * (width, height)
        extent = random.uniform(0.1, 0.7, (len(rois), 2)) * (width, height)
        found = np.concatenate([corner, corner + extent], 1) / self.scale
        where = positions(batch.shape, self.x.shape[0], self.batch, seed)
        return [x, found.astype(rois.dtype), where]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[2, 3, 9, 7], f32[5, 4], i64[5], (3, 2), 1.0, 2, True, "avg")
        yield cls(f32[1, 2, 5, 4], f32[3, 4], i32[3], (2, 2), 0.5, 0, True, "avg")
        yield cls(f16[1, 2, 5, 4], f32[3, 4], i64[3], (1, 3), 1.0, 0, False, "avg")
        yield cls(f32[2, 1, 5, 8], f32[3, 4], i64[3], (2, 1), 1.0, 3, False, "max")
