"""How the threads of a block copy tiles of both operands to shared memory.

A tile keeps the order in which its operand lies: neighbours in memory are neighbours in a row of
the tile. Through registers, reads go through hooks, so that fusion can put a producer in their
place. Asynchronous copies are faster, and leave no place for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from hidet.ir.expr import And, Expr, wrap
from hidet.lang import (
    Global,
    Int,
    Registers,
    Shared,
    address,
    cast,
    part,
    record,
    register_tensor,
    shared_tensor,
    static,
    vectorize,
)
from hidet.lang.cuda import cp_async, threadIdx
from hidet.lang.memory import get
from hidet.mapping import auto_map
from hidet.schedules.contraction import Contraction
from hidet.types import DType


@dataclass(frozen=True)
class Side:
    """One operand's tile: `extent` rows (or columns) of the product, `depth` elements of each."""

    product: Contraction
    left: bool
    """Whether the operand is a, not b."""
    extent: int
    depth: int
    threads: int
    """Those of the block, which share the work."""
    vector: int
    """Elements of one access of a thread."""
    dtype: DType
    """The type the tile has in shared memory."""
    padding: int
    """Elements between rows of the tile, so that its columns lie in different banks."""
    transposed: bool = False
    """Whether the tile in shared memory has k as its first axis, however the operand lies."""

    @property
    def along_k(self) -> bool:
        """Whether rows of the tile run along k."""
        return self.product.a_along_k if self.left else self.product.b_along_k

    @property
    def shared_along_k(self) -> bool:
        """Whether rows of the tile run along k in shared memory."""
        return self.along_k and not self.transposed

    def shared_index(self, at: Any, r: Any, down: Any, right: Any) -> tuple[Any, Any]:
        """Where in a tile in shared memory, down and right from where row (or column) `at` of the
        product has element r."""
        return (at + down, r + right) if self.shared_along_k else (r + down, at + right)

    def element(self, at: Any, r: Any) -> tuple[Any, ...]:
        """Where in a tile in shared memory row (or column) `at` of the product has element r."""
        return (at, r) if self.shared_along_k else (r, at)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the tile."""
        return (self.extent, self.depth) if self.along_k else (self.depth, self.extent)

    @property
    def padded(self) -> tuple[int, ...]:
        """The shape of the tile in shared memory."""
        along = self.shared_along_k
        rows, columns = (self.extent, self.depth) if along else (self.depth, self.extent)
        return rows, columns + self.padding

    @property
    def stored_bytes(self) -> int:
        """Bytes of a tile that go to shared memory."""
        return self.extent * self.depth * self.dtype.nbytes

    @property
    def exact(self) -> bool:
        """Whether the threads share the tile evenly."""
        rows, columns = self.shape
        return columns % self.vector == 0 and rows * columns // self.vector % self.threads == 0

    @property
    def steps(self) -> int:
        """Vectors that each thread copies."""
        return self.extent * self.depth // self.vector // self.threads

    def tasks(self) -> list[tuple[Expr, Expr]]:
        """Row and first column of each vector of this thread."""
        rows, columns = self.shape
        mapping = auto_map(rows, columns // self.vector, workers=self.threads, predicate=False)
        return [(row, column * self.vector) for row, column in mapping.tasks(threadIdx.x)]

    def at(self, z: Any, start: Any, first: Any, row: Any, column: Any) -> Any:
        """The operand's index of an element of the tile that begins at `start`, `first`."""
        i, r = (row, column) if self.along_k else (column, row)
        if self.left:
            return self.product.a_at(z, start + i, first + r)
        return self.product.b_at(z, first + r, start + i)

    def neighbour(self, z: Any, start: Any, first: Any, row: Any, column: Any, v: Any) -> Any:
        """The operand's index of element `v` of a vector; plain to see where all are of one row."""
        if self.contiguity % self.vector:
            return self.at(z, start, first, row, column + v)
        *outer, last = self.at(z, start, first, row, column)
        return (*outer, last + v)

    @property
    def contiguity(self) -> int:
        """How many neighbours in memory are of one row of the operand, all inside of it or none."""
        return self.product.a_contiguity if self.left else self.product.b_contiguity

    @part
    def allocate(self, buffers: int) -> Shared:
        """Allocate shared memory for `buffers` tiles."""
        tiles = shared_tensor(self.dtype, (buffers, *self.padded))
        return tiles

    @part
    def staging(self) -> Registers:
        """Registers for a thread's vectors of a tile."""
        registers = register_tensor(self.dtype, (self.steps, self.vector))
        return registers

    @part
    def fetch(self, of: Source, registers: Registers, first: Int) -> None:
        """This thread's vectors of the tile from element `first` of k on, from memory to
        registers."""
        for step, (row, column) in static(enumerate(self.tasks())):
            for v in vectorize(self.vector):
                # In one expression: an index with a name is computed by itself.
                value = get(of.operand, *self.neighbour(of.z, of.start, first, row, column, v))
                registers[step, v] = cast(value, self.dtype)

    @part
    def copy(self, of: Source, buffer: Int, first: Int) -> None:
        """Copy this thread's vectors of the tile from element `first` of k on to a buffer, without
        waiting. What lies outside becomes zero. The operand's contiguity must be `vector` or more.
        """
        nbytes = self.vector * self.dtype.nbytes
        for row, column in static(self.tasks()):
            at = self.at(of.z, of.start, first, row, column)
            taken = nbytes if inside(of.operand, at) else 0
            target, source = address(of.tiles, buffer, row, column), address(of.operand, *at)
            cp_async(target, source, nbytes, taken)

    @part
    def store(self, of: Source, registers: Registers, buffer: Int) -> None:
        """This thread's vectors, from registers to one of the tiles."""
        across = self.along_k != self.shared_along_k
        for step, (row, column) in static(enumerate(self.tasks())):
            for v in vectorize(self.vector):
                at = (column + v, row) if across else (row, column + v)
                of.tiles[buffer, *at] = registers[step, v]


@record
class Source:
    """An operand's tiles: where they come from, and where they lie in shared memory."""

    side: Any
    """The `Side`."""
    operand: Global
    tiles: Shared
    z: Any
    start: Any
    """Which product, and which of its rows (or columns) is the first."""


def inside(tensor: Any, index: Sequence[Any]) -> Expr:
    """The condition for an index to lie in a tensor's shape; what is certain, `simplify` drops."""
    asked = [
        condition
        for at, size in zip(map(wrap, index), tensor.of.shape, strict=True)
        for condition in (at >= 0, at < size)
    ]
    return reduce(And, asked)
