"""How the threads of a block bring tiles of both operands to shared memory.

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
from hidet.lang import ScriptFunction, address, cast, script, static, vectorize
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
    """Neighbours that a thread brings at once."""
    dtype: DType
    """The type the tile has in shared memory."""
    padding: int
    """Elements between rows of the tile, so that its columns lie in different banks."""
    turned: bool = False
    """Whether the tile in shared memory has k as its first axis, however the operand lies."""

    @property
    def along_k(self) -> bool:
        """Whether rows of the tile run along k."""
        return self.product.a_along_k if self.left else self.product.b_along_k

    @property
    def held_along_k(self) -> bool:
        """Whether rows of the tile run along k in shared memory."""
        return self.along_k and not self.turned

    def placed(self, at: Any, r: Any, down: Any, right: Any) -> tuple[Any, Any]:
        """Where in a tile in shared memory, down and right from where row (or column) `at` of the
        product has element r."""
        return (at + down, r + right) if self.held_along_k else (r + down, at + right)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the tile."""
        return (self.extent, self.depth) if self.along_k else (self.depth, self.extent)

    @property
    def padded(self) -> tuple[int, ...]:
        """The shape of the tile in shared memory."""
        along = self.held_along_k
        rows, columns = (self.extent, self.depth) if along else (self.depth, self.extent)
        return rows, columns + self.padding

    @property
    def exact(self) -> bool:
        """Whether the threads share the tile evenly."""
        rows, columns = self.shape
        return columns % self.vector == 0 and rows * columns // self.vector % self.threads == 0

    @property
    def steps(self) -> int:
        """How many vectors each thread brings."""
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
        if self.together % self.vector:
            return self.at(z, start, first, row, column + v)
        *outer, last = self.at(z, start, first, row, column)
        return (*outer, last + v)

    @property
    def together(self) -> int:
        """How many neighbours in memory are of one row of the operand, all there or none."""
        return self.product.a_together if self.left else self.product.b_together

    def fetch(self) -> ScriptFunction:
        """A part of a kernel: this thread's vectors of a tile, from memory to registers."""
        tasks, vector, dtype = self.tasks(), self.vector, self.dtype

        @script
        def fetch(operand, registers, z, start, first):  # type: ignore[no-untyped-def]
            for step, (row, column) in static(enumerate(tasks)):
                for v in vectorize(vector):
                    value = get(operand, *self.neighbour(z, start, first, row, column, v))
                    registers[step, v] = cast(value, dtype)

        return fetch

    def copy(self) -> ScriptFunction:
        """A part of a kernel: this thread's vectors of a tile, on their way to one of the tiles.

        What lies outside becomes zero. The operand's elements must be `vector` together.
        """
        tasks, nbytes = self.tasks(), self.vector * self.dtype.nbytes

        @script
        def copy(operand, tiles, number, z, start, first):  # type: ignore[no-untyped-def]
            for row, column in static(tasks):
                at = self.at(z, start, first, row, column)
                taken = nbytes if inside(operand, at) else 0
                target, source = address(tiles, number, row, column), address(operand, *at)
                cp_async(target, source, nbytes, taken)

        return copy

    def place(self) -> ScriptFunction:
        """A part of a kernel: this thread's vectors, from registers to one of the tiles."""
        tasks, vector = self.tasks(), self.vector
        across = self.along_k != self.held_along_k

        @script
        def place(registers, tiles, number):  # type: ignore[no-untyped-def]
            for step, (row, column) in static(enumerate(tasks)):
                for v in vectorize(vector):
                    at = (column + v, row) if across else (row, column + v)
                    tiles[number, *at] = registers[step, v]

        return place


def inside(tensor: Any, index: Sequence[Any]) -> Expr:
    """The condition for an index to lie in a tensor's shape; what is certain, `simplify` drops."""
    asked = [
        condition
        for at, size in zip(map(wrap, index), tensor.of.shape, strict=True)
        for condition in (at >= 0, at < size)
    ]
    return reduce(And, asked)
