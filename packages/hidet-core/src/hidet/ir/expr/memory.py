"""Names, tensor accesses and vectors: the nodes that say where a value comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from hidet.ir.expr.value import Expr
from hidet.ir.node import Node, node
from hidet.types import DType, PointerType, Type, VectorType, i32


@node
class Var(Expr):
    """A name for a value, a tensor or a size. Two variables are one only if they are one object."""

    interned: ClassVar[bool] = False
    name: str
    of: Type

    def infer(self) -> Type:
        return self.of

    def children(self) -> tuple[Node, ...]:
        """Sizes in a tensor's shape are no children: a type may mention any enclosing symbol."""
        return ()

    def mentioned(self) -> frozenset[Node]:
        """Itself."""
        return frozenset((self,))

    def map_children(self, change: Callable[[Any], Any]) -> Var:
        """Itself."""
        return self


@node
class Builtin(Expr):
    """A value the hardware gives each thread: `threadIdx.x`, `blockIdx.y`, `gridDim.x`, ..."""

    name: str
    of: DType = i32

    def infer(self) -> Type:
        return self.of


@node
class Load(Expr):
    """The element of `tensor` at `index`, or the `lanes` elements from it on along the last axis.

    `tensor` is a variable of tensor type (one index for each axis) or a pointer (one index).
    """

    tensor: Expr
    index: tuple[Expr, ...]
    lanes: int = 1

    def infer(self) -> Type:
        element = self.tensor.dtype
        return element if self.lanes == 1 else VectorType(element, self.lanes)


@node
class Get(Expr):
    """A schedule's hook on an operand: the element at `index`, zero outside of the shape.

    Fusion replaces it by the producer's expression; guard_bounds turns what is left into loads.
    """

    tensor: Var
    index: tuple[Expr, ...]

    def infer(self) -> Type:
        return self.tensor.dtype


@node
class FromAccumulators(Expr):
    """A schedule's hook on a result: what is stored at `index`, made of the anchor's own element
    there, or of this and its neighbour, ahead of their rounding.

    Only a schedule that was told what follows has it; fusion replaces it by what that makes.
    """

    tensor: Var
    index: tuple[Expr, ...]
    sums: tuple[Expr, ...]

    def infer(self) -> Type:
        return self.tensor.dtype


@node
class Address(Expr):
    """A pointer to the element of `tensor` at `index`."""

    tensor: Expr
    index: tuple[Expr, ...]

    def infer(self) -> Type:
        return PointerType(self.tensor.dtype)


@node
class Pack(Expr):
    """A vector of the given lanes."""

    lanes: tuple[Expr, ...]

    def infer(self) -> Type:
        return VectorType(self.lanes[0].dtype, len(self.lanes))


@node
class Lane(Expr):
    """Lane number `lane` of a vector."""

    vector: Expr
    lane: int

    def infer(self) -> Type:
        return self.vector.dtype


@node
class Dot(Expr):
    """A vector plus, in each lane, the dot product of one group of neighbours of `a` and of `b`.

    Sums in int32 take groups of 4 where `a` is u8 and `b` i8, of 2 where both are i16, and do not
    saturate. Sums in float32 take groups of 2 of bf16: products are exact, in which order they are
    added is open, and numbers too small for the normal range of float32 may count as zero.
    `a` may be a single group, which all lanes read.
    """

    total: Expr
    a: Expr
    b: Expr

    def infer(self) -> Type:
        return self.total.type


@node
class Reinterpret(Expr):
    """The bits of `value` read as `to`, of the same width; also a pointer as another pointer."""

    value: Expr
    to: DType | VectorType | PointerType

    def infer(self) -> Type:
        return self.to
