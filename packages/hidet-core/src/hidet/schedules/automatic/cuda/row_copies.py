"""Elements of rows in shared memory, by asynchronous copies (PTX ISA: cp.async).

Rows too long for the registers of a block come through a multistage pipeline: while threads
synchronise, nothing else would be read; so the next rows are on their way into its other stages. A
row has several; as soon as the last pass has read a stage, or its elements are in registers
(`persistent_clusters.py`), the next copy goes there. Operands that are the same for all rows, such
as weights, are copied once. Every thread copies what it reads itself and waits for no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hidet.ir.expr import Address, Expr, Get, Load, Value, Var
from hidet.ir.stmt import Body, Declare, Invoke
from hidet.ir.walk import substitute, variables
from hidet.schedules.automatic.access import reads, stride
from hidet.schedules.automatic.cuda.grid import THREAD
from hidet.types import Scope, TensorType

SMALLEST = 4
"""Bytes of the smallest copy."""


class RowCopies:
    """An array of `stages` for each of `operands`.

    A stage is what all `threads` take at once, `lanes` neighbours each.
    """

    def __init__(
        self, name: str, operands: Sequence[Get], stages: int, lanes: int, threads: int
    ) -> None:
        self.stages, self.lanes, self.threads = stages, lanes, threads
        self.arrays = {
            read: Var(
                f"{name}{n}", TensorType(read.dtype, (stages * threads * lanes,), Scope.SHARED)
            )
            for n, read in enumerate(operands)
        }

    @property
    def narrowest(self) -> int:
        """Bytes of the narrowest copy; 0 where there is none."""
        return min((read.dtype.nbytes for read in self.arrays), default=0) * self.lanes

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.stages * stage_bytes(self.arrays, self.lanes, self.threads)

    def declared(self) -> Body:
        """The arrays."""
        return tuple(Declare(array) for array in self.arrays.values())

    def index(self, first: Value, slot: Expr) -> Expr:
        """Where element `slot` lies, counted from stage number `first`."""
        stage = (first + slot // self.lanes) % self.stages
        return (stage * self.threads + THREAD) * self.lanes + slot % self.lanes

    def begin(self, first: Value, slot: Expr, here: Mapping[Var, Expr]) -> Body:
        """Start the copies of an element at an index."""
        where = self.index(first, slot)
        return tuple(
            Invoke("store_async", (Address(array, (where,)), substitute(read, here)))
            for read, array in self.arrays.items()
        )

    def loads(self, first: Value, slot: Expr) -> dict[Expr, Expr]:
        """What is read instead of memory."""
        where = self.index(first, slot)
        return {read: Load(array, (where,)) for read, array in self.arrays.items()}


def stage_bytes(operands: Iterable[Get], lanes: int, threads: int) -> int:
    """Bytes that all threads copy at once."""
    return threads * lanes * sum(read.dtype.nbytes for read in operands)


def along_rows(passes: Iterable[Expr], place: Var) -> list[Get]:
    """What passes read of which neighbours lie side by side."""
    found = dict.fromkeys(read for row_pass in passes for read in reads(row_pass))
    return [read for read in found if stride(read, place) == 1]


def is_of_row(read: Get, row: Sequence[Var]) -> bool:
    """Whether each row reads elements of its own."""
    return bool(set(row) & set(variables(read)))
