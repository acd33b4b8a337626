"""Operators on complex numbers, which are pairs of reals within a graph.

They have a table of their own: an operator is looked up in it if it takes or gives complex
numbers. What only moves elements, or is linear, does to both parts what it does to real numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias, TypeGuard

from hidet import ops
from hidet.errors import NotYet
from hidet.frontend.importing import complex_numbers as numbers
from hidet.frontend.importing.complex_numbers import Complex, ComplexOf, as_complex
from hidet.frontend.importing.converters import Converters
from hidet.graph import Tensor
from hidet.types import DType
from hidet_torch.converters.elementwise import mixed
from hidet_torch.converters.rounding import rounded
from hidet_torch.converters.table import aten, overload, require
from hidet_torch.converters.table import torch as table

Operand: TypeAlias = Complex | Tensor | complex
"""What complex arithmetic takes: some operands may be real, or numbers of Python's."""

pairs: Converters[Any] = Converters("torch, where numbers are complex,")

pairs.rows(
    {
        aten.view_as_complex.default: Complex.of,
        aten.view_as_real.default: lambda z: z.parts,
        aten.complex.default: numbers.joined,
        aten.polar.default: numbers.polar,
        aten._conj.default: numbers.conjugate,
        aten._conj_physical.default: numbers.conjugate,
        aten.abs.default: numbers.absolute,
        aten.angle.default: numbers.angle,
        aten.exp.default: numbers.exp,
    }
)

# ---- both parts alike ---------------------------------------------------------------------------

PARTWISE = (
    "clone", "copy", "cumsum", "diagonal", "expand", "flip", "gather",
    "index.Tensor", "index_put", "index_select", "mean", "mean.dim", "neg", "permute", "repeat",
    "roll", "select.int", "select_scatter", "slice.Tensor", "slice_scatter", "split_with_sizes",
    "squeeze", "squeeze.dim", "squeeze.dims", "sum", "sum.dim_IntList", "t", "transpose.int",
    "tril", "triu", "unbind.int", "unsqueeze", "view", "_unsafe_view", "zeros", "zeros_like",
)  # fmt: skip
"""What does to the real and to the imaginary parts what it does to real numbers."""


def partwise(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """The conversion of both parts, as of real numbers."""
    convert = table.find(operator)
    if convert is None:
        raise NotYet(f"{operator} of complex numbers")
    parts = ("real", "imaginary")
    return together(*[convert(*taken(args, each), **taken(kwargs, each)) for each in parts])


def taken(value: Any, which: str) -> Any:
    """Arguments with one part of each complex number."""
    match value:
        case Complex():
            return getattr(value, which)
        case ComplexOf():
            return value.parts
        case list() | tuple():
            return [taken(each, which) for each in value]
        case dict():
            return {key: taken(each, which) for key, each in value.items()}
    return value


def together(real: Any, imaginary: Any) -> Any:
    """Complex numbers of results for their parts."""
    if isinstance(real, list | tuple):
        return tuple(together(a, b) for a, b in zip(real, imaginary, strict=True))
    return Complex(real, imaginary)


for _name in PARTWISE:
    pairs.rows({overload(_name): partial(partwise, overload(_name))})


@pairs(aten.constant_pad_nd.default)
def pad(z: Complex, widths: Sequence[Any], value: complex = 0) -> Any:
    """Numbers with zeros around them."""
    require(value == 0, "a border of complex numbers that are not 0")
    return partwise(aten.constant_pad_nd.default, z, widths)


@pairs(aten.cat.default)
def cat(tensors: Sequence[Complex | Tensor], axis: int = 0) -> Any:
    """Numbers one after the other, some of which may be real."""
    return partwise(aten.cat.default, [operand(each, each) for each in tensors], axis)


@pairs(aten.stack.default)
def stack(tensors: Sequence[Complex | Tensor], axis: int = 0) -> Any:
    """Numbers along a new axis, some of which may be real."""
    return partwise(aten.stack.default, [operand(each, each) for each in tensors], axis)


@pairs(aten.where.self)
def choice(condition: Tensor, x: Complex | Tensor, y: Complex | Tensor) -> Any:
    """x where the condition holds, else y."""
    return partwise(aten.where.self, condition, operand(x, y), operand(y, x))


@pairs(aten._to_copy.default)
def to_copy(x: Complex | Tensor, dtype: ComplexOf | DType | None = None, **how: Any) -> Any:
    """Numbers in another type; real ones become complex, complex ones keep their real part."""
    if isinstance(dtype, ComplexOf):
        return partwise(aten._to_copy.default, operand(x, x), dtype=dtype, **how)
    if dtype is None:
        return partwise(aten._to_copy.default, x, **how)
    return rounded(x.real if isinstance(x, Complex) else x, dtype)


# ---- arithmetic ---------------------------------------------------------------------------------


def operand(x: Operand, beside: Operand) -> Complex:
    """An operand as complex numbers; one of Python's is of the type of the other operand."""
    if isinstance(x, Complex):
        return x
    if isinstance(x, Tensor):
        return as_complex(x)
    like = beside.real if isinstance(beside, Complex) else beside
    assert isinstance(like, Tensor), "one of two operands is a tensor"
    real, imaginary = (
        ops.full((), part, like.dtype, device=like.device)
        for part in (complex(x).real, complex(x).imag)
    )
    return Complex(real, imaginary)


def is_real(x: Operand) -> TypeGuard[Tensor | float]:
    """Whether an operand has no imaginary part."""
    return not isinstance(x, Complex | complex)


@pairs(aten.mul.Tensor)
def multiply(x: Operand, y: Operand) -> Complex:
    """The products; those of real numbers scale both parts."""
    for z, scale in ((x, y), (y, x)):
        if isinstance(z, Complex) and is_real(scale):
            return z.map(partial(mixed, ops.multiply, y=scale))
    return numbers.multiply(operand(x, y), operand(y, x))


@pairs(aten.div.Tensor)
def divide(x: Operand, y: Operand) -> Complex:
    """The quotients; those by real numbers scale both parts."""
    if isinstance(x, Complex) and is_real(y):
        return x.map(partial(mixed, ops.divide, y=y))
    return numbers.divide(operand(x, y), operand(y, x))


@pairs(aten.reciprocal.default)
def reciprocal(z: Complex) -> Complex:
    """1 / z."""
    return divide(1, z)


@pairs(aten.silu.default)
def silu(z: Complex) -> Complex:
    """z / (1 + exp(-z))."""
    return divide(z, add(numbers.exp(z.map(ops.negative)), 1))


@pairs(aten.add.Tensor)
def add(x: Operand, y: Operand, alpha: complex = 1) -> Complex:
    """x + alpha * y."""
    if alpha != 1:
        y = multiply(y, alpha) if isinstance(y, Complex) else multiply(operand(y, x), alpha)
    return numbers.add(operand(x, y), operand(y, x))


@pairs(aten.sub.Tensor)
def subtract(x: Operand, y: Operand, alpha: complex = 1) -> Complex:
    """x - alpha * y."""
    return add(x, y, -alpha)


@pairs(aten.rsub.Scalar)
def subtract_from(x: Operand, y: Operand, alpha: complex = 1) -> Complex:
    """y - alpha * x."""
    return add(y, x, -alpha)


@pairs(aten.pow.Tensor_Scalar)
def power(z: Complex, exponent: complex) -> Complex:
    """The squares."""
    require(exponent == 2, f"complex numbers to the power of {exponent}")
    return numbers.multiply(z, z)


@pairs(aten.mm.default, aten.bmm.default)
def matmul(a: Complex, b: Complex) -> Complex:
    """Complex matmuls, also of stacks: four matmuls of their parts."""
    return numbers.multiply(a, b, ops.matmul)
