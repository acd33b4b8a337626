"""What a matmul and a convolution have in common: the form schedules are written against.

c[z, i, j] = sum over r of a[z, i, r] * b[z, r, j], plus a bias. The operands are the operator's
own; index functions say which of their elements is meant, in whatever layout they lie.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import gcd, prod
from typing import Any, ClassVar, TypeAlias

from hidet.compute import accumulator
from hidet.compute.places import unravel
from hidet.compute.sizes import possible, same
from hidet.ir.expr import Value
from hidet.lang import ScriptFunction, cdiv
from hidet.schedules.typical import estimated, size_bytes
from hidet.types import DType, Size, TensorType

Index: TypeAlias = tuple[Value, ...]

MAX_CONTIGUITY = 16
"""Elements of the widest access: 16 bytes of the narrowest type."""


class Contraction(ABC):
    """A stack of matmuls over operands of any layout."""

    a: TensorType
    b: TensorType
    bias: TensorType | None
    c: TensorType
    batch: Size
    """How many products there are."""
    m: Size
    n: Size
    k: Size
    a_along_k: bool
    """Whether neighbours in a row of a lie side by side; else neighbours in a column do."""
    b_along_k: bool
    """Whether neighbours in a column of b lie side by side; else neighbours in a row do."""
    operands: ClassVar[tuple[str, ...]] = ("a", "b", "bias")
    """Which of `a`, `b` and `bias` is which operand of the operator."""
    weight: ClassVar[str] = "b"
    """Which of `a` and `b` is the same at all calls, where one is."""
    made: ClassVar[tuple[str, ...]] = ()
    """Which of `a` and `b` kernels ahead of the matmul make of the operator's operands."""
    allows_split_k: ClassVar[bool] = True
    """Whether k may be split among blocks (split-K)."""

    @abstractmethod
    def a_at(self, z: Value, i: Value, r: Value) -> Index:
        """The index in `a` of the element that row i multiplies by row r of b."""

    @abstractmethod
    def b_at(self, z: Value, r: Value, j: Value) -> Index:
        """The index in `b` of the element at row r and column j."""

    @abstractmethod
    def c_at(self, z: Value, i: Value, j: Value) -> Index:
        """The index in `c` of the element at row i and column j."""

    @abstractmethod
    def bias_at(self, z: Value, i: Value, j: Value) -> Index:
        """The index in `bias` of what is added at row i and column j."""

    @property
    def b_stored(self) -> TensorType:
        """The type of b in memory: other than `b` where its elements are packed."""
        return self.b

    def estimated(self, size: Size) -> int:
        """A size as a number, for estimates."""
        return estimated(size)

    @property
    def run(self) -> Size:
        """How many elements along k, from a multiple of as many on, differ in one index alone."""
        return self.k

    @property
    def reach(self) -> Size:
        """How many of them, several runs or one, do so where `is_whole` says that all are there."""
        return self.run

    def is_whole(self, i: Value) -> Value:
        """Whether of each `reach` of row i all elements are there or none is."""
        return True

    @property
    def a_contiguity(self) -> int:
        """How many neighbours in memory, from a multiple of as many on, are of one row (or column)
        of a and either all inside of it or all outside: the widest access."""
        return 1

    @property
    def b_contiguity(self) -> int:
        """The same of b."""
        return 1

    def is_there(self, i: Value, j: Value) -> Value:
        """The condition on row i and column j, needed where `c_at` of one outside of the matmul may
        be an element of c."""
        return True

    @property
    def matrices(self) -> Size:
        """How many matrices b has."""
        return self.batch

    @property
    def a_matrices(self) -> Size:
        """How many matrices a has: product z has matrix z modulo that."""
        return self.batch

    def which(self, z: Any) -> Value:
        """The number of the matrix of b in product z."""
        found: Value = z
        return found

    def down(self, rows: int) -> Size:
        """How many tiles of so many rows a product has, at most."""
        found: Size = cdiv(self.m, rows)
        return found

    def tiles_down(self, rows: int) -> int:
        """How many tiles of so many rows all products have, estimated."""
        return -(-estimated(self.m) // rows) * estimated(self.batch)

    def table(self, rows: int) -> TensorType | None:
        """The type of a table that says where tiles of rows lie, if only the data tell."""
        return None

    def used(self, table: Any, rows: int) -> Value:
        """How many tiles of rows a product has, inside of a kernel that has the table."""
        return self.down(rows)

    def place(self, table: Any, z: Value, number: Value, rows: int) -> tuple[Any, Value]:
        """Which product a tile of rows is of, and its first row: of tile `number` of product z."""
        return z, number * rows

    def placing(self, name: str, rows: int, kind: str) -> list[ScriptFunction]:
        """The kernels that fill the table in, or make an operand, for targets of a kind."""
        return []

    @property
    def scattered(self) -> float:
        """The relative cost of gathering one element; 0 where neighbours are loaded as a vector."""
        return 0.0

    @property
    def has_weight(self) -> bool:
        """Whether one operand is likely a weight: the same at all calls."""
        return True

    @property
    def wide(self) -> DType:
        """The type of the accumulators."""
        return accumulator(self.c.dtype)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to multiply."""
        return any(same(size, 0) is True for size in (self.batch, self.m, self.n, self.k))

    @property
    def flops(self) -> float:
        """Operations of all products."""
        return 2.0 * prod(map(estimated, (self.batch, self.m, self.n, self.k)))

    @property
    def nbytes(self) -> tuple[float, float]:
        """Bytes read and written, each element once."""
        return sum(map(size_bytes, (self.a, self.b))), size_bytes(self.c)


def names_of(p: Contraction) -> list[str]:
    """The names of the operands that are there, in the operator's order."""
    return [name for name in p.operands if getattr(p, name) is not None]


def digits(number: Value, sizes: Sequence[Size]) -> Index:
    """`number` as an index of a grid of `sizes`, the last axis fastest; axes of size 1 are at 0.

    A number that is too large gives an index outside of the grid, if the grid has any axis.
    """
    if sizes and all(same(size, 1) for size in sizes):
        return (*(0 for _ in sizes[1:]), number)
    return unravel(number, sizes)


def contiguity(size: Size) -> int:
    """How many neighbours along an axis without gaps are all inside or outside: a power of two."""
    if isinstance(size, int):
        return gcd(size, MAX_CONTIGUITY)
    all_sizes = possible(size)
    return gcd(all_sizes.divisor, all_sizes.remainder, MAX_CONTIGUITY)
