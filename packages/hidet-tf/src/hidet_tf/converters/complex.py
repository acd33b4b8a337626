"""Complex numbers and Fourier transforms.

The compiler has no complex element types: within a graph they are pairs. An operator with complex
operands or results is filed by `COMPLEX` before its name, and converted only where every operator
that its complex numbers go to or come from is (`importing/complex.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet import ops
from hidet.compute.sizes import broadcast
from hidet.errors import NotYet
from hidet.frontend.operands import size_of, sizes_of
from hidet.graph import Tensor
from hidet.types import DType
from hidet_tf.converters.table import tf

COMPLEX = "complex "


@dataclass(frozen=True)
class ComplexOf:
    """The element type of complex numbers with such parts."""

    parts: DType


@dataclass(frozen=True)
class Complex:
    """Complex numbers: `parts` are [..., 2], real and imaginary."""

    parts: Tensor

    @property
    def real(self) -> Tensor:
        """The real parts."""
        return ops.select(self.parts, -1, 0)

    @property
    def imaginary(self) -> Tensor:
        """The imaginary parts."""
        return ops.select(self.parts, -1, 1)


@tf(COMPLEX + "Complex")
def joined(real: Tensor, imaginary: Tensor) -> Complex:
    """Numbers of two parts, which broadcast."""
    shape = broadcast(real.shape, imaginary.shape)
    return Complex(ops.stack([ops.expand(each, shape) for each in (real, imaginary)], -1))


tf.rows(
    {
        COMPLEX + "Real": lambda z: z.real,
        COMPLEX + "Imag": lambda z: z.imaginary,
        COMPLEX + "ComplexAbs": lambda z: ops.hypot(z.real, z.imaginary),
        COMPLEX + "Angle": lambda z: ops.atan2(z.imaginary, z.real),
        COMPLEX + "Conj": lambda z: joined(z.real, ops.negative(z.imaginary)),
        COMPLEX + "AddV2": lambda a, b: Complex(ops.add(a.parts, b.parts)),
        COMPLEX + "Neg": lambda z: Complex(ops.negative(z.parts)),
        COMPLEX + "Sub": lambda a, b: Complex(ops.subtract(a.parts, b.parts)),
    }
)


@tf(COMPLEX + "Mul")
def multiply(a: Complex, b: Complex) -> Complex:
    """The products."""
    real = ops.subtract(ops.multiply(a.real, b.real), ops.multiply(a.imaginary, b.imaginary))
    other = ops.add(ops.multiply(a.real, b.imaginary), ops.multiply(a.imaginary, b.real))
    return joined(real, other)


@tf(COMPLEX + "RealDiv")
def divide(a: Complex, b: Complex) -> Complex:
    """The quotients."""
    size = ops.add(ops.square(b.real), ops.square(b.imaginary))
    found = multiply(a, joined(b.real, ops.negative(b.imaginary)))
    return Complex(ops.divide(found.parts, ops.unsqueeze(size, -1)))


@tf(COMPLEX + "Cast")
def cast(x: Tensor | Complex, *, DstT: DType | ComplexOf, Truncate: bool) -> Tensor | Complex:
    """Real numbers as complex ones, these in another type, or their real parts."""
    if Truncate:
        raise NotYet("a Cast that cuts bits off instead of rounding")
    real = x.real if isinstance(x, Complex) else x
    if not isinstance(DstT, ComplexOf):
        return ops.cast(real, DstT)
    if isinstance(x, Complex):
        return Complex(ops.cast(x.parts, DstT.parts))
    return joined(ops.cast(real, DstT.parts), ops.zeros_like(real, DstT.parts))


def transform(name: str, axes: int, *, inverse: bool = False) -> None:
    """File the Fourier transform of so many last axes."""

    def convert(z: Complex) -> Complex:
        parts = z.parts
        for axis in range(-2, -2 - axes, -1):
            parts = ops.dft(parts, axis=axis, inverse=inverse)
        return Complex(parts)

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
    return Complex(ops.dft(found, rows, axis=-3))


@tf(COMPLEX + "IRFFT2D")
def inverse_real_fft_2d(z: Complex, lengths: Tensor) -> Tensor:
    """The real numbers that have this half of a Fourier transform of two axes."""
    rows, columns = sizes_of(lengths)
    found = ops.dft(z.parts, rows, axis=-3, inverse=True)
    return ops.squeeze(ops.dft(found, columns, inverse=True, onesided=True), -1)


@tf(COMPLEX + "RFFT")
def real_fft(x: Tensor, length: Tensor) -> Complex:
    """The first half of the Fourier transform of so many real numbers, and one element more."""
    return Complex(ops.dft(ops.unsqueeze(x, -1), size_of(length), onesided=True))


@tf(COMPLEX + "IRFFT")
def inverse_real_fft(z: Complex, length: Tensor) -> Tensor:
    """The so many real numbers that have this first half of a Fourier transform."""
    return ops.squeeze(ops.dft(z.parts, size_of(length), inverse=True, onesided=True), -1)
