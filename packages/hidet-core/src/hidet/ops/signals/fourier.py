"""Discrete Fourier transforms, of whole signals and of windows of them."""

from __future__ import annotations

from hidet.compute.sizes import product, tidy
from hidet.errors import BadArgument, DtypeMismatch, ShapeMismatch
from hidet.graph import Tensor
from hidet.graph.dims import axis_of
from hidet.ops.signals.fourier_steps import Matrix, Wanted, by_matrix, mirrored, mixed_radix, radix
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.pad import pad
from hidet.ops.tensors.shape import permute, reshape
from hidet.ops.tensors.slicing import slice
from hidet.ops.tensors.strided import sliding
from hidet.types import Size, f32, f64


def dft(
    x: Tensor, length: Size | None = None, *, axis: int = -2, inverse: bool = False,
    onesided: bool = False,
) -> Tensor:  # fmt: skip
    """The discrete Fourier transform along `axis` of x[..., 1 or 2], whose last axis is complex.

    The signal is cut, or filled with zeros, to `length` (None: its own). `onesided` keeps the first
    length // 2 + 1 elements of a real signal's transform; with `inverse` it takes them and gives
    the real signal, [..., 1], of `length` (None: 2 · (size - 1)). The type is that of `x`, a float.
    Lengths known before any call are transformed factor by factor (`fourier_steps.py`).
    Raises ShapeMismatch or DtypeMismatch. Source: ONNX DFT-20.
    """
    parts = parts_of(x)
    where = axis_of(axis, x.ndim)
    if where == x.ndim - 1:
        raise ShapeMismatch("the last axis is that of real and imaginary parts")
    size = x.shape[where]
    if length is None:
        length = tidy((size - 1) * 2) if inverse and onesided else size
    taken = tidy(length // 2 + 1) if inverse and onesided else length
    last = (*(each for each in range(x.ndim - 1) if each != where), where, x.ndim - 1)
    found = transformed(of_size(permute(x, last), taken), parts, taken, length, inverse, onesided)
    return permute(found, [last.index(each) for each in range(x.ndim)])


def stft(
    x: Tensor, step: int, window: Tensor | None = None, length: int | None = None, *,
    onesided: bool = True,
) -> Tensor:  # fmt: skip
    """The transforms [n, frames, bins, 2] of x[n, size, 1 or 2], `length` elements every `step`.

    Each frame is multiplied by window[length] before. Only whole frames count. `onesided` keeps
    length // 2 + 1 bins, of a real signal. The type is that of `x`. Source: ONNX STFT-17.
    """
    parts = parts_of(x)
    if x.ndim != 3:
        raise ShapeMismatch(f"stft takes [n, size, 1 or 2], not {x.type}")
    count: Size | None = length
    if count is None:
        count = x.shape[1] if window is None else window.shape[0]
    if not isinstance(count, int) or step < 1:
        raise BadArgument(f"frames of {count} elements, {step} apart")
    frames = permute(sliding(x, 1, count, step), (0, 1, 3, 2))
    dtype = f64 if x.dtype is f64 else f32
    wide = cast(frames, dtype)
    if window is not None:
        if window.ndim != 1 or window.shape[0] != count:
            raise ShapeMismatch(f"a window {window.type} for frames of {count} elements")
        wide = wide * reshape(cast(window, dtype), (count, 1))
    return cast(transformed(wide, parts, count, count, False, onesided), x.dtype)


def parts_of(x: Tensor) -> int:
    """How many parts the numbers of a signal have: 1 or 2."""
    if not x.dtype.is_float:
        raise DtypeMismatch(f"a signal of {x.dtype.name}")
    if x.ndim < 2 or x.shape[-1] not in (1, 2):
        raise ShapeMismatch(f"a signal is [..., 1 or 2], not {x.type}")
    return int(x.shape[-1])


def of_size(x: Tensor, size: Size) -> Tensor:
    """`x` with `size` elements along its last axis but one: cut off, or zeros behind."""
    own = x.shape[-2]
    if isinstance(own, int) and isinstance(size, int) and own > size:
        return slice(x, -2, 0, size)
    return pad(x, [(0, 0)] * (x.ndim - 2) + [(0, tidy(size - own)), (0, 0)])


def transformed(
    x: Tensor, parts: int, rows: Size, period: Size, inverse: bool, onesided: bool
) -> Tensor:
    """The transform of x[..., rows, parts] along its last axes but one, in the type of `x`."""
    if onesided and not inverse and parts == 2:
        raise BadArgument("a one-sided transform is of a real signal", help="give one part")
    columns = tidy(period // 2 + 1) if onesided and not inverse else period
    real = inverse and onesided
    flat = reshape(x, (product(x.shape[:-2]), rows, parts))
    first = radix(period)
    if isinstance(period, int) and first is not None and isinstance(columns, int):
        whole = mirrored(flat, period) if real else flat
        found = mixed_radix(whole, first, Wanted(columns, real, inverse))
    else:
        found = by_matrix(flat, Matrix(period, columns, real, inverse, mirrored=real))
    return cast(reshape(found, (*x.shape[:-2], *found.shape[1:])), x.dtype)
