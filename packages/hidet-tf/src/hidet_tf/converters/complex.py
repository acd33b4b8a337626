"""Complex numbers and Fourier transforms.

The compiler has no complex element types: within a graph they are pairs. An operator with complex
operands or results is filed by `COMPLEX` before its name, and converted only where every operator
that its complex numbers go to or come from is (`importing/complex.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet import ops
from hidet.compute.sizes import broadcast
from hidet.frontend.operands import size_of
from hidet.graph import Tensor
from hidet_tf.converters.table import tf

COMPLEX = "complex "


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
        COMPLEX + "Sub": lambda a, b: Complex(ops.subtract(a.parts, b.parts)),
    }
)


@tf(COMPLEX + "Mul")
def multiply(a: Complex, b: Complex) -> Complex:
    """The products."""
    real = ops.subtract(ops.multiply(a.real, b.real), ops.multiply(a.imaginary, b.imaginary))
    other = ops.add(ops.multiply(a.real, b.imaginary), ops.multiply(a.imaginary, b.real))
    return joined(real, other)


@tf(COMPLEX + "FFT")
def fft(z: Complex) -> Complex:
    """The Fourier transform of the last axis."""
    return Complex(ops.dft(z.parts))


@tf(COMPLEX + "IFFT")
def inverse_fft(z: Complex) -> Complex:
    """What has this Fourier transform."""
    return Complex(ops.dft(z.parts, inverse=True))


@tf(COMPLEX + "RFFT")
def real_fft(x: Tensor, length: Tensor) -> Complex:
    """The first half of the Fourier transform of so many real numbers, and one element more."""
    return Complex(ops.dft(ops.unsqueeze(x, -1), size_of(length), onesided=True))


@tf(COMPLEX + "IRFFT")
def inverse_real_fft(z: Complex, length: Tensor) -> Tensor:
    """The so many real numbers that have this first half of a Fourier transform."""
    return ops.squeeze(ops.dft(z.parts, size_of(length), inverse=True, onesided=True), -1)
