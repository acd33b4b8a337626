"""Rows on their way into shared memory while those before them are worked on.

A row too long for the registers of a block lies in shared memory, where all walks read it. While
threads wait for each other's sums nothing else would be read; so what comes next is under way in
the rest of that memory, which is a ring of pieces: a row has `turns` of them, and as soon as the
last walk is done with a piece, or threads have it in registers (`turns.py`), the one that is
next in turn takes its place. Every thread copies what it reads itself and waits for no other. PTX
ISA: cp.async.
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
"""Rows that the ring has room for, at most."""


class Ring:
    """What `walks` read of a row at `place`, in a ring for each read.

    A piece is what all `threads` take at once, `lanes` neighbours each; `shared_bytes` are there.
    """

    def __init__(
        self,
        walks: Iterable[Expr],
        along: tuple[Sequence[Var], Sequence[Var]],
        turns: int,
        lanes: int,
        threads: int,
        shared_bytes: int,
        most: int = MOST,
    ) -> None:
        row, place = along
        found = dict.fromkeys(read for walk in walks for read in reads(walk))
        moving = [r for r in found if set(row) & set(variables(r)) and stride(r, place[-1]) == 1]
        self.turns, self.lanes, self.threads = turns, lanes, threads
        self.narrowest = min((read.dtype.nbytes for read in moving), default=0) * lanes
        self.piece = threads * lanes * sum(read.dtype.nbytes for read in moving)
        self.pieces = min(most * turns, shared_bytes // max(1, self.piece))
        size = self.pieces * threads * lanes
        self.arrays = {
            read: Var(f"ahead{n}", TensorType(read.dtype, (size,), Scope.SHARED))
            for n, read in enumerate(moving)
        }

    @property
    def worth_it(self) -> bool:
        """Whether half a row is under way besides the one that is there, by copies wide enough."""
        return self.narrowest >= SMALLEST and 2 * self.pieces >= 3 * self.turns

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.pieces * self.piece

    def declared(self) -> Body:
        """The arrays."""
        return tuple(Declare(array) for array in self.arrays.values())

    def index(self, number: Value, slot: Expr) -> Expr:
        """Where element `slot`, in a piece or beyond, lies from piece `number` of all rows on."""
        piece = (number + slot // self.lanes) % self.pieces
        return (piece * self.threads + THREAD) * self.lanes + slot % self.lanes

    def begin(self, row: Value, slot: Expr, here: Mapping[Var, Expr]) -> Body:
        """Begin to copy an element of a block's row number `row`."""
        where = self.index(row * self.turns, slot)
        return tuple(
            Invoke("store_async", (Address(array, (where,)), substitute(read, here)))
            for read, array in self.arrays.items()
        )

    def loads(self, row: Value, slot: Expr) -> dict[Expr, Expr]:
        """What is read instead of memory in a block's row number `row`."""
        where = self.index(row * self.turns, slot)
        return {read: Load(array, (where,)) for read, array in self.arrays.items()}
