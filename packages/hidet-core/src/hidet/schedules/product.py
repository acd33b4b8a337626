"""A stack of matrix products, whichever operator asks for it: what schedules are written against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from hidet.compute import accumulator
from hidet.compute.sizes import Shape, product, same
from hidet.ir.expr import Value
from hidet.ops.matmul import Linear, Matmul
from hidet.types import DType, Size, TensorType


@dataclass(frozen=True)
class Product:
    """c[z, i, j] = sum over r of a[z, i, r] * b[z, r, j], plus bias[j], for z below `batch`.

    `a`, `b`, `bias` and `c` are the operator's own operands; `a_at`, `b_at`, `c_at` say which of
    their elements is meant. Axes of the stack that one of the operands lacks are rows where they
    can be: one large product is faster than many small ones.
    """

    a: TensorType
    b: TensorType
    bias: TensorType | None
    c: TensorType
    stack: Shape
    """The axes of the stack."""
    rows: Shape
    """The axes that make up i."""
    n: Size
    k: Size
    transposed_a: bool = False
    transposed_b: bool = False

    @property
    def m(self) -> Size:
        """How many rows there are."""
        return product(self.rows)

    @property
    def batch(self) -> Size:
        """How many products there are."""
        return product(self.stack)

    @property
    def wide(self) -> DType:
        """The type of the sums."""
        return accumulator(self.c.dtype)

    @property
    def flops(self) -> float:
        """Operations of all products; what is not known counts as 128."""
        return 2.0 * known(self.batch) * known(self.m) * known(self.n) * known(self.k)

    @property
    def nbytes(self) -> tuple[float, float]:
        """Bytes read and written, each element once."""
        operands = (self.a, self.b, *(() if self.bias is None else (self.bias,)))
        return sum(map(size_bytes, operands)), size_bytes(self.c)

    def a_at(self, z: Value, i: Value, r: Value) -> tuple[Value, ...]:
        """The index in `a` of the element that row i multiplies by row r of b."""
        return self.index(self.a, z, (*digits(i, self.rows),), r, self.transposed_a)

    def b_at(self, z: Value, r: Value, j: Value) -> tuple[Value, ...]:
        """The index in `b` of the element at row r and column j."""
        return self.index(self.b, z, (r,), j, self.transposed_b)

    def c_at(self, z: Value, i: Value, j: Value) -> tuple[Value, ...]:
        """The index in `c` of the element at row i and column j."""
        return (*digits(z, self.stack), *digits(i, self.rows), j)

    def index(
        self, of: TensorType, z: Value, first: tuple[Value, ...], last: Value, swapped: bool
    ) -> tuple[Value, ...]:
        """The index of an element of a matrix in a stack; axes of size 1 are at 0."""
        own = of.shape[: of.ndim - len(first) - 1]
        outer = digits(z, self.stack)[len(self.stack) - len(own) :] if own else ()
        stacked = (
            0 if same(size, 1) and not same(whole, 1) else at
            for size, whole, at in zip(own, self.stack[len(self.stack) - len(own) :], outer)
        )
        inner = (last, *first) if swapped else (*first, last)
        return (*stacked, *inner)


def product_of(op: Matmul | Linear) -> Product:
    """The product that an operator asks for."""
    c = op.infer()
    assert isinstance(c, TensorType)
    if isinstance(op, Linear):
        n, k = op.weight.shape
        return Product(
            op.x, op.weight, op.bias, c, (), op.x.shape[:-1], n, k, transposed_b=True
        )
    m, n, k = op.sizes()
    whole = Product(
        op.a, op.b, None, c, op.batch(), (m,), n, k, op.transpose_a, op.transpose_b
    )
    stacked = prod(1 if same(size, 1) else 2 for size in op.b.shape[:-2]) > 1
    plain = not op.transpose_a and op.a.ndim == c.ndim
    if stacked or not plain or not op.batch():
        return whole
    if any(not same(x, y) for x, y in zip(op.a.shape[:-2], op.batch(), strict=True)):
        return whole
    # One matrix b for all of the stack: the stack's axes are rows.
    return replace(whole, stack=(), rows=(*op.batch(), m))


def digits(number: Value, sizes: Sequence[Size]) -> tuple[Value, ...]:
    """`number` as an index of a grid of `sizes`, the last axis fastest; axes of size 1 are at 0."""
    rest: Value = number
    found: list[Value] = []
    real = [axis for axis, size in enumerate(sizes) if not same(size, 1)]
    for axis in reversed(range(len(sizes))):
        if axis not in real:
            found.append(0)
        elif axis == real[0]:
            found.append(rest)
        else:
            found.append(rest % sizes[axis])
            rest = rest // sizes[axis]
    return tuple(reversed(found))


def known(size: Size) -> int:
    """A size as a number, for estimates: 128 where it is known only at run time."""
    return size if isinstance(size, int) else 128


def size_bytes(of: TensorType) -> float:
    """The bytes of a tensor, for estimates."""
    return float(prod(map(known, of.shape))) * of.dtype.nbytes
