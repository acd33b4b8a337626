"""Matmuls as contractions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from hidet.compute.sizes import Shape, product, same
from hidet.ir.expr import Value, wrap
from hidet.ops.products.matmul import Linear, Matmul
from hidet.schedules.contraction import Contraction, Index, contiguity, digits
from hidet.types import Size, TensorType


@dataclass(frozen=True)
class Product(Contraction):
    """A stack of products; axes that make up the rows may be several.

    Axes of the stack that b lacks are rows where they can be: one large product is faster than
    many small ones.
    """

    a: TensorType
    b: TensorType
    bias: TensorType | None
    c: TensorType
    stack: Shape
    rows: Shape
    n: Size
    k: Size
    a_along_k: bool = True
    b_along_k: bool = False

    @cached_property
    def m(self) -> Size:  # type: ignore[override]
        """How many rows there are."""
        return product(self.rows)

    @cached_property
    def batch(self) -> Size:  # type: ignore[override]
        """How many products there are."""
        return product(self.stack)

    @cached_property
    def a_contiguity(self) -> int:
        """Neighbours along k, or along the rows where those are one axis."""
        if self.a_along_k:
            return contiguity(self.k)
        return contiguity(self.m) if len(self.rows) == 1 else 1

    @cached_property
    def b_contiguity(self) -> int:
        """Neighbours along k or along the columns."""
        return contiguity(self.k if self.b_along_k else self.n)

    def is_there(self, i: Value, j: Value) -> Value:
        """A vector has no axis for its one row."""
        return True if self.rows else wrap(i) < self.m

    @property
    def has_weight(self) -> bool:
        """Whether b is one matrix for all products."""
        return self.b.ndim <= 2

    def a_at(self, z: Value, i: Value, r: Value) -> Index:
        row = digits(i, self.rows)
        return self.stacked(self.a, z, (*row, r) if self.a_along_k else (r, *row))

    def b_at(self, z: Value, r: Value, j: Value) -> Index:
        return self.stacked(self.b, z, (j, r) if self.b_along_k else (r, j))

    def c_at(self, z: Value, i: Value, j: Value) -> Index:
        return (*digits(z, self.stack), *digits(i, self.rows), j)

    def bias_at(self, z: Value, i: Value, j: Value) -> Index:
        return (j,)

    def stacked(self, of: TensorType, z: Value, inner: Index) -> Index:
        """The index of an element of a matrix in a stack; axes of size 1 are at 0."""
        own = of.shape[: of.ndim - len(inner)]
        alone = max(len(own) - len(self.stack), 0)  # axes of b whose stack became rows
        skipped = len(self.stack) - len(own) + alone
        pairs = zip(own[alone:], self.stack[skipped:], digits(z, self.stack)[skipped:], strict=True)
        outer = (0 if same(x, 1) and not same(y, 1) else at for x, y, at in pairs)
        return (*(0,) * alone, *outer, *inner)


@lru_cache(maxsize=1024)
def product_of(op: Matmul | Linear) -> Product:
    """The product that an operator asks for."""
    c = op.infer()
    if isinstance(op, Linear):
        n, k = op.weight.shape
        return Product(op.x, op.weight, op.bias, c, (), op.x.shape[:-1], n, k, b_along_k=True)
    m, n, k = op.sizes()
    stack = op.batch()
    whole = Product(
        op.a, op.b, None, c, stack, (m,), n, k, not op.transpose_a, bool(op.transpose_b)
    )
    one_b = all(same(size, 1) for size in op.b.shape[:-2])
    every_a = op.a.ndim == c.ndim and all(
        same(x, y) for x, y in zip(op.a.shape[:-2], stack, strict=True)
    )
    if not (stack and one_b and every_a and whole.a_along_k):
        return whole
    return replace(whole, stack=(), rows=(*stack, m))
