"""Windows of signals as sums of cosines, and the weights of the mel scale."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, grid, select
from hidet.compute.sizes import numbers
from hidet.errors import BadArgument, DtypeMismatch
from hidet.graph import Op, Tensor, apply, from_numpy, operator
from hidet.ir.expr import Expr, constant, wrap
from hidet.ops.signals.dft_matrix import turned
from hidet.types import DType, Size, TensorType, boolean, f16, f32, f64, i64
from hidet.types import dtype as dtype_of


def hann_window(
    size: Size, *, periodic: bool = True, dtype: Any = f32, device: str = "cpu"
) -> Tensor:
    """0.5 - 0.5 cos(2 π i / n) for i below `size`; n is `size` if periodic, else `size` - 1."""
    return cosines(size, (0.5, 0.5), periodic, dtype, device)


def hamming_window(
    size: Size, *, periodic: bool = True, alpha: float = 25 / 46, beta: float | None = None,
    dtype: Any = f32, device: str = "cpu",
) -> Tensor:  # fmt: skip
    """`alpha` - `beta` cos(2 π i / n), beta being 1 - alpha unless given (ONNX HammingWindow-17).

    PyTorch's alpha is 0.54. n is `size` if periodic, else `size` - 1.
    """
    return cosines(size, (alpha, 1 - alpha if beta is None else beta), periodic, dtype, device)


def blackman_window(
    size: Size, *, periodic: bool = True, dtype: Any = f32, device: str = "cpu"
) -> Tensor:
    """0.42 - 0.5 cos(2 π i / n) + 0.08 cos(4 π i / n), as `hann_window`."""
    return cosines(size, (0.42, 0.5, 0.08), periodic, dtype, device)


def cosines(
    size: Size, weights: tuple[float, ...], periodic: bool, dtype: Any, device: str
) -> Tensor:
    """The sum of cosines with weights of alternating sign."""
    return apply(
        CosineWindow, size=size, weights=weights, periodic=periodic, dtype=dtype_of(dtype),
        device=device,
    )  # fmt: skip


def mel_weights(
    bins: int, dft_length: int, sample_rate: int, low: float, high: float, dtype: Any = f32,
    *, device: str = "cpu",
) -> Tensor:  # fmt: skip
    """[dft_length // 2 + 1, bins]: triangles over frequencies, equally far apart in mel.

    `low` and `high` are in Hertz, as `sample_rate` is. Source: ONNX MelWeightMatrix-17.
    """
    if bins < 1 or dft_length < 1 or sample_rate < 1 or not 0 <= low <= high:
        raise BadArgument(f"{bins} mel bins of {dft_length} elements from {low} to {high} Hz")
    mel = [2595 * math.log10(1 + edge / 700) for edge in (low, high)]
    step = (mel[1] - mel[0]) / (bins + 2)
    hertz = 700 * np.expm1((mel[0] + step * np.arange(bins + 2)) / 2595 * math.log(10))
    edges = ((dft_length + 1) * hertz // sample_rate).astype(np.int64)
    if edges.max() > dft_length // 2:
        raise BadArgument(f"{high} Hz is above half of the sample rate {sample_rate}")
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    place = np.arange(dft_length // 2 + 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(left == centre, place == centre, (place - left) / (centre - left))
        down = (right - place) / (right - centre)
    rising = (place >= left) & (place <= centre)
    falling = (place >= centre) & (place < right) & (right > centre)
    found = np.where(falling, down, np.where(rising, up, 0.0))
    table = from_numpy(found.astype(dtype_of(dtype).numpy))
    return table if device == "cpu" else table.to(device)


@operator("cosine_window")
class CosineWindow(Op):
    """The sum of (-1)**k · weights[k] · cos(2 π k i / n), computed in float64."""

    size: Size
    weights: tuple[float, ...]
    periodic: bool
    dtype: DType

    costly: ClassVar[bool] = True

    def infer(self) -> TensorType:
        if not self.dtype.is_float and not self.dtype.is_integer:
            raise DtypeMismatch(f"a window of {self.dtype.name}")
        return self.dtype[self.size]

    def define(self) -> Grid:
        size = wrap(self.size).cast(i64)
        period = size if self.periodic else size - 1

        def element(i: Expr) -> Expr:
            value: Expr = constant(self.weights[0], f64)
            for k, weight in enumerate(self.weights[1:], 1):
                # A window of one element that is not periodic has no period, and is 1.
                some = select(period.eq(0), constant(1, i64), period)
                wave = turned(i.cast(i64) * k, some, constant(False, boolean))
                value = value - wave * weight * (-1) ** (k - 1)
            if not self.periodic:
                value = select(size.eq(1), constant(1, f64), value)
            return value.cast(self.dtype)

        return grid((self.size,), element)

    def reference(self) -> Any:
        (size,) = numbers((self.size,))
        if size == 1 and not self.periodic:
            return np.ones(1)
        angle = 2 * np.pi * np.arange(size) / (size if self.periodic else size - 1)
        waves = [(-1) ** k * w * np.cos(k * angle) for k, w in enumerate(self.weights)]
        return np.sum(waves, 0)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(10, (0.5, 0.5), True, f32)
        yield cls(7, (0.42, 0.5, 0.08), False, f32)
        yield cls(33, (25 / 46, 21 / 46), True, f16)
        yield cls(1, (0.5, 0.5), False, f32)
