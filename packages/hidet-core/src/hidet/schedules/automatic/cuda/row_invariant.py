"""Operands that are the same for all rows of a block, such as weights, in shared memory.

Every thread has the same places in each row, so it copies for itself alone what it reads there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hidet.ir.expr import Address, Expr, Load, Var
from hidet.ir.stmt import Body, Declare, Invoke
from hidet.ir.walk import variables
from hidet.schedules.automatic.access import reads, stride
from hidet.schedules.automatic.cuda.grid import THREAD
from hidet.schedules.automatic.cuda.row_pipeline import SMALLEST
from hidet.types import Scope, TensorType


class RowInvariant:
    """What `passes` read along a row's `place`, whichever row it is: `slots` elements of each of
    `threads`, `lanes` neighbours at once."""

    def __init__(
        self,
        passes: Iterable[Expr],
        along: tuple[Sequence[Var], Sequence[Var]],
        slots: int,
        lanes: int,
        threads: int,
    ) -> None:
        row, place = along
        self.lanes, self.threads = lanes, threads
        found = dict.fromkeys(read for row_pass in passes for read in reads(row_pass))
        along_it = [
            r for r in found if not set(row) & set(variables(r)) and stride(r, place[-1]) == 1
        ]
        same = [read for read in along_it if read.dtype.nbytes * lanes >= SMALLEST]
        self.arrays = {
            read: Var(f"invariant{n}", TensorType(read.dtype, (slots * threads,), Scope.SHARED))
            for n, read in enumerate(same)
        }
        self.nbytes = slots * threads * sum(read.dtype.nbytes for read in same)

    def declared(self) -> Body:
        """The arrays."""
        return tuple(Declare(array) for array in self.arrays.values())

    def index(self, slot: Expr) -> Expr:
        """Where element `slot` of this thread lies."""
        return (slot // self.lanes * self.threads + THREAD) * self.lanes + slot % self.lanes

    def begin(self, slot: Expr) -> Body:
        """Start the copy of an element of each."""
        return tuple(
            Invoke("store_async", (Address(array, (self.index(slot),)), read))
            for read, array in self.arrays.items()
        )

    def loads(self, slot: Expr) -> dict[Expr, Expr]:
        """What is read instead of memory."""
        return {read: Load(array, (self.index(slot),)) for read, array in self.arrays.items()}
