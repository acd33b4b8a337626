"""Complex numbers as pairs of reals: the compiler has no complex element types.

In memory, and at the borders of a graph, `parts` are [..., 2], which is how every framework lays
out complex numbers. Within a graph real and imaginary parts are tensors of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hidet import ops
from hidet.compute.sizes import broadcast
from hidet.graph import Tensor
from hidet.ops.tensors.create import Full
from hidet.types import DType


@dataclass(frozen=True)
class ComplexOf:
    """The element type of complex numbers with such parts."""

    parts: DType


@dataclass(frozen=True, eq=False)
class Complex:
    """Complex numbers by their real and imaginary parts, tensors of one shape and type."""

    real: Tensor
    imaginary: Tensor

    @staticmethod
    def of(parts: Tensor) -> Complex:
        """The numbers whose parts lie along the last axis, which has size 2."""
        made = Complex(ops.select(parts, -1, 0), ops.select(parts, -1, 1))
        made.__dict__["parts"] = parts
        return made

    @cached_property
    def parts(self) -> Tensor:
        """Both parts along a last axis."""
        return ops.stack([self.real, self.imaginary], -1)

    @property
    def is_real(self) -> bool:
        """Whether all imaginary parts are known to be 0, as those of `as_complex` are."""
        trace = self.imaginary.trace
        return trace is not None and isinstance(trace[0].op, Full) and trace[0].op.value == 0

    def map(self, function: Callable[..., Any]) -> Complex:
        """The numbers whose parts `function` gives for these parts: it is linear and real."""
        return Complex(function(self.real), function(self.imaginary))


def joined(real: Tensor, imaginary: Tensor) -> Complex:
    """Numbers of two parts, which broadcast."""
    shape = broadcast(real.shape, imaginary.shape)
    return Complex(ops.expand(real, shape), ops.expand(imaginary, shape))


def as_complex(x: Tensor) -> Complex:
    """Real numbers as complex ones."""
    return Complex(x, ops.zeros_like(x))


def conjugate(z: Complex) -> Complex:
    """The same numbers with imaginary parts of the other sign."""
    return Complex(z.real, ops.negative(z.imaginary))


def absolute(z: Complex) -> Tensor:
    """How far from 0 numbers are."""
    return ops.hypot(z.real, z.imaginary)


def angle(z: Complex) -> Tensor:
    """The angles of numbers, from -pi to pi."""
    return ops.atan2(z.imaginary, z.real)


def polar(size: Tensor, angle: Tensor) -> Complex:
    """Numbers of such sizes and angles, which broadcast."""
    return joined(ops.multiply(size, ops.cos(angle)), ops.multiply(size, ops.sin(angle)))


def add(a: Complex, b: Complex) -> Complex:
    """The sums."""
    return joined(ops.add(a.real, b.real), ops.add(a.imaginary, b.imaginary))


def subtract(a: Complex, b: Complex) -> Complex:
    """The differences."""
    return joined(ops.subtract(a.real, b.real), ops.subtract(a.imaginary, b.imaginary))


def multiply(
    a: Complex, b: Complex, times: Callable[[Tensor, Tensor], Tensor] = ops.multiply
) -> Complex:
    """The products; `times` multiplies parts, as elements or as matrices."""
    real = ops.subtract(times(a.real, b.real), times(a.imaginary, b.imaginary))
    other = ops.add(times(a.real, b.imaginary), times(a.imaginary, b.real))
    return joined(real, other)


def divide(a: Complex, b: Complex) -> Complex:
    """The quotients; nothing overflows where these do not."""
    size = ops.maximum(ops.absolute(b.real), ops.absolute(b.imaginary))
    one = b.map(lambda part: ops.divide(part, size))
    whole = ops.multiply(ops.add(ops.square(one.real), ops.square(one.imaginary)), size)
    return multiply(a, conjugate(one)).map(lambda part: ops.divide(part, whole))


def exp(z: Complex) -> Complex:
    """e to the power of numbers."""
    return polar(ops.exp(z.real), z.imaginary)
