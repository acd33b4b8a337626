"""Complex numbers and Fourier transforms.

The compiler has no complex element types: within a graph they are pairs. An operator with complex
operands or results is filed by `COMPLEX` before its name, and converted only where every operator
that its complex numbers go to or come from is (`importing/complex.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from hidet import ops
from hidet.errors import NotYet
from hidet.frontend.importing import complex_numbers as numbers
from hidet.frontend.importing.complex_numbers import Complex, ComplexOf, as_complex
from hidet.frontend.importing.operands import size_of, sizes_of
from hidet.graph import Tensor
from hidet.types import DType
from hidet_tf.converters.shape import broadcast_to, expand_dims, reshape, squeeze, tile, transpose
from hidet_tf.converters.slices import strided_slice
from hidet_tf.converters.table import tf

COMPLEX = "complex "


tf.rows(
    {
        COMPLEX + "Complex": numbers.joined,
        COMPLEX + "Real": lambda z: z.real,
        COMPLEX + "Imag": lambda z: z.imaginary,
        COMPLEX + "ComplexAbs": numbers.absolute,
        COMPLEX + "Angle": numbers.angle,
        COMPLEX + "Conj": numbers.conjugate,
        COMPLEX + "AddV2": numbers.add,
        COMPLEX + "Neg": lambda z: z.map(ops.negative),
        COMPLEX + "Sub": numbers.subtract,
        COMPLEX + "Mul": numbers.multiply,
        COMPLEX + "RealDiv": numbers.divide,
        COMPLEX + "Exp": numbers.exp,
        COMPLEX + "Square": lambda z: numbers.multiply(z, z),
    }
)


def of_parts(function: Callable[..., Tensor]) -> Callable[..., Complex]:
    """A converter that moves elements, on the parts of complex ones."""

    @wraps(function)
    def convert(z: Complex, *rest: Any, **named: Any) -> Complex:
        return z.map(lambda part: function(part, *rest, **named))

    return convert


tf.rows(
    {
        COMPLEX + "BroadcastTo": of_parts(broadcast_to),
        COMPLEX + "ExpandDims": of_parts(expand_dims),
        COMPLEX + "Reshape": of_parts(reshape),
        COMPLEX + "Squeeze": of_parts(squeeze),
        COMPLEX + "StridedSlice": of_parts(strided_slice),
        COMPLEX + "Tile": of_parts(tile),
        COMPLEX + "Transpose": of_parts(transpose),
    }
)


@tf(COMPLEX + "Cast")
def cast(x: Tensor | Complex, *, DstT: DType | ComplexOf, Truncate: bool) -> Tensor | Complex:
    """Real numbers as complex ones, these in another type, or their real parts."""
    if Truncate:
        raise NotYet("a Cast that cuts bits off instead of rounding")
    real = x.real if isinstance(x, Complex) else x
    if not isinstance(DstT, ComplexOf):
        return ops.cast(real, DstT)
    if isinstance(x, Complex):
        return x.map(lambda part: ops.cast(part, DstT.parts))
    return as_complex(ops.cast(real, DstT.parts))


def transform(name: str, axes: int, *, inverse: bool = False) -> None:
    """File the Fourier transform of so many last axes."""

    def convert(z: Complex) -> Complex:
        parts = z.parts
        for axis in range(-2, -2 - axes, -1):
            parts = ops.dft(parts, axis=axis, inverse=inverse)
        return Complex.of(parts)

    tf(COMPLEX + name)(convert)


transform("FFT", 1)
transform("FFT2D", 2)
transform("FFT3D", 3)
transform("IFFT", 1, inverse=True)
transform("IFFT2D", 2, inverse=True)
transform("IFFT3D", 3, inverse=True)


@tf(COMPLEX + "RFFT2D")
def real_fft_2d(x: Tensor, lengths: Tensor) -> Complex:
    """Half of the Fourier transform of two axes of real numbers, cut or filled to these sizes."""
    rows, columns = sizes_of(lengths)
    found = ops.dft(ops.unsqueeze(x, -1), columns, onesided=True)
    return Complex.of(ops.dft(found, rows, axis=-3))


@tf(COMPLEX + "IRFFT2D")
def inverse_real_fft_2d(z: Complex, lengths: Tensor) -> Tensor:
    """The real numbers that have this half of a Fourier transform of two axes."""
    rows, columns = sizes_of(lengths)
    found = ops.dft(z.parts, rows, axis=-3, inverse=True)
    return ops.squeeze(ops.dft(found, columns, inverse=True, onesided=True), -1)


@tf(COMPLEX + "RFFT")
def real_fft(x: Tensor, length: Tensor) -> Complex:
    """The first half of the Fourier transform of so many real numbers, and one element more."""
    return Complex.of(ops.dft(ops.unsqueeze(x, -1), size_of(length), onesided=True))


@tf(COMPLEX + "IRFFT")
def inverse_real_fft(z: Complex, length: Tensor) -> Tensor:
    """The so many real numbers that have this first half of a Fourier transform."""
    return ops.squeeze(ops.dft(z.parts, size_of(length), inverse=True, onesided=True), -1)
