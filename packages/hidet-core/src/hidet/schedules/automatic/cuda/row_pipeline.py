"""A multistage pipeline of rows through shared memory, by asynchronous copies (PTX ISA: cp.async).

A row too long for the registers of a block lies in shared memory, where all passes read it. While
threads synchronise, nothing else would be read; so the next rows are on their way into the other
stages. A row has `stages_per_row` of them; as soon as the last pass has read a stage, or its
elements are in registers (`persistent_clusters.py`), the next copy goes there. Every thread copies
what it reads itself and waits for no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hidet.ir.expr import Address, Expr, Load, Value, Var
from hidet.ir.stmt import Body, Declare, Invoke
from hidet.ir.walk import substitute, variables
from hidet.schedules.automatic.access import reads, stride
from hidet.schedules.automatic.cuda.grid import THREAD
from hidet.types import Scope, TensorType

SMALLEST = 4
"""Bytes of the smallest copy."""
MOST = 2
"""Rows that the pipeline holds, at most."""


class RowPipeline:
    """What `passes` read of a row at `place`, with an array of stages for each read.

    A stage is what all `threads` take at once, `lanes` neighbours each; the stages take at most
    `shared_bytes`.
    """

    def __init__(
        self,
        passes: Iterable[Expr],
        along: tuple[Sequence[Var], Sequence[Var]],
        stages_per_row: int,
        lanes: int,
        threads: int,
        shared_bytes: int,
        most: int = MOST,
    ) -> None:
        row, place = along
        found = dict.fromkeys(read for row_pass in passes for read in reads(row_pass))
        moving = [r for r in found if set(row) & set(variables(r)) and stride(r, place[-1]) == 1]
        self.stages_per_row, self.lanes, self.threads = stages_per_row, lanes, threads
        self.narrowest = min((read.dtype.nbytes for read in moving), default=0) * lanes
        self.stage_bytes = threads * lanes * sum(read.dtype.nbytes for read in moving)
        self.stages = min(most * stages_per_row, shared_bytes // max(1, self.stage_bytes))
        size = self.stages * threads * lanes
        self.arrays = {
            read: Var(f"prefetched{n}", TensorType(read.dtype, (size,), Scope.SHARED))
            for n, read in enumerate(moving)
        }

    @property
    def worth_it(self) -> bool:
        """Whether half a row is under way besides the one that is there, by copies wide enough."""
        return self.narrowest >= SMALLEST and 2 * self.stages >= 3 * self.stages_per_row

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.stages * self.stage_bytes

    def declared(self) -> Body:
        """The arrays."""
        return tuple(Declare(array) for array in self.arrays.values())

    def index(self, number: Value, slot: Expr) -> Expr:
        """Where element `slot` lies, counted from stage `number` of all rows on."""
        stage = (number + slot // self.lanes) % self.stages
        return (stage * self.threads + THREAD) * self.lanes + slot % self.lanes

    def begin(self, row: Value, slot: Expr, here: Mapping[Var, Expr]) -> Body:
        """Start the copies of an element of a block's row number `row`."""
        where = self.index(row * self.stages_per_row, slot)
        return tuple(
            Invoke("store_async", (Address(array, (where,)), substitute(read, here)))
            for read, array in self.arrays.items()
        )

    def loads(self, row: Value, slot: Expr) -> dict[Expr, Expr]:
        """What is read instead of memory in a block's row number `row`."""
        where = self.index(row * self.stages_per_row, slot)
        return {read: Load(array, (where,)) for read, array in self.arrays.items()}
