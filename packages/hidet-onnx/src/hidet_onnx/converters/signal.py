"""Signals: Fourier transforms, windows, mel scales."""

from __future__ import annotations

from collections.abc import Callable

from hidet import ops
from hidet.frontend.importing.operands import integer, number, numbers, size_of
from hidet.graph import Tensor
from hidet.types import f32
from hidet_onnx.converters.here import here
from hidet_onnx.converters.table import onnx
from hidet_onnx.dtypes import element


@onnx("DFT", since=20)
def dft(
    x: Tensor, length: Tensor | None = None, axis: Tensor | None = None, *, inverse: int = 0,
    onesided: int = 0,
) -> Tensor:  # fmt: skip
    """The Fourier transform along an axis, by default the one before the last."""
    along = -2 if axis is None else integer(axis)
    return transformed(x, length, along, inverse, onesided)


@onnx("DFT", since=17)
def dft_before_20(
    x: Tensor, length: Tensor | None = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0
) -> Tensor:
    """The same along an axis that the model fixes."""
    return transformed(x, length, axis, inverse, onesided)


def transformed(x: Tensor, length: Tensor | None, axis: int, inverse: int, onesided: int) -> Tensor:
    """The Fourier transform of so many elements along an axis."""
    count = None if length is None else numbers(length)[0]
    return ops.dft(x, count, axis=axis, inverse=bool(inverse), onesided=bool(onesided))


@onnx("STFT", since=17)
def stft(
    x: Tensor, step: Tensor, window: Tensor | None = None, length: Tensor | None = None, *,
    onesided: int = 1,
) -> Tensor:  # fmt: skip
    """The Fourier transforms of frames."""
    count = None if length is None else integer(length)
    return ops.stft(x, integer(step), window, count, onesided=bool(onesided))


def window(name: str, function: Callable[..., Tensor]) -> None:
    """File a window by its size."""

    def convert(size: Tensor, *, output_datatype: int = 1, periodic: int = 1) -> Tensor:
        count = size_of(size)
        wide = function(count, periodic=bool(periodic), dtype=f32, device=here().device)
        return ops.cast(wide, element(output_datatype))

    convert.__name__, convert.__doc__ = name.lower(), f"{name} of so many elements."
    onnx(name, since=17)(convert)


window("HannWindow", ops.hann_window)
window("HammingWindow", ops.hamming_window)
window("BlackmanWindow", ops.blackman_window)


@onnx("MelWeightMatrix", since=17)
def mel_weight_matrix(
    bins: Tensor, dft_length: Tensor, sample_rate: Tensor, low: Tensor, high: Tensor, *,
    output_datatype: int = 1,
) -> Tensor:  # fmt: skip
    """Weights that bring frequencies to the mel scale."""
    return ops.mel_weights(
        integer(bins), integer(dft_length), integer(sample_rate), number(low), number(high),
        element(output_datatype), device=here().device,
    )  # fmt: skip
