"""Walks over rows that come through a ring in shared memory (`ring.py`), piece by piece."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hidet.ir.expr import Expr, Value, Var
from hidet.lang import Int, part, static
from hidet.lang.cuda import cp_async_commit_group, cp_async_wait_group
from hidet.schedules.automatic.cuda.grid import write
from hidet.schedules.automatic.cuda.kept import Kept
from hidet.schedules.automatic.cuda.ring import Ring
from hidet.schedules.automatic.cuda.rows import Row, Rows
from hidet.schedules.automatic.cuda.spread import Element, Place, Spread


class ThroughRing(Rows):
    """Rows of which the next ones are on their way while one is worked on."""

    ring: Ring

    def keep(self, shared_bytes: int) -> Kept | None:
        """Nothing is kept of rows but what the ring holds."""
        return None

    @part
    def begin(self) -> None:
        """The first pieces begin to come."""
        write(self.ring.declared())
        for piece in static(range(self.ring.pieces)):
            self.begin_piece(0, piece)

    @part
    def begin_piece(self, again: Int, piece: int) -> None:
        """Begin to copy the piece that comes so many after the first one of a block's row; the
        copies of a piece are a group, also where there is nothing left to copy."""
        later, turn = divmod(piece, self.ring.turns)
        if self.comes(again + later, later):
            self.pieces(turn, turn + 1).each(partial(self.copy, self.row(again + later)))
        cp_async_commit_group()

    def comes(self, again: Value, later: int) -> Expr | bool:
        """Whether there is a row that comes so many after the one that is worked on."""
        return self.number(again) < self.rows

    def copy(self, row: Row, place: Place, slot: Expr, kept: None) -> None:
        """Begin to copy an element."""
        write(self.ring.begin(row.again, slot, self.at(row, place)))

    def at(self, row: Row, place: Place) -> dict[Var, Expr]:
        """The index of an element."""
        return row.index | dict(zip(self.place, place, strict=True))

    @part
    def arrive(self, row: Row) -> None:
        """Wait for the row that is next in turn, not for what is behind it."""
        cp_async_wait_group(self.ring.pieces - self.ring.turns)

    @part
    def walk(self, number: int, element: Element) -> None:
        """`element` at every place of a walk, all of it written out."""
        self.pieces(0, self.ring.turns).each(element)

    def pieces(self, start: int, stop: int) -> Spread:
        """The places of some pieces."""
        shape, turns = self.shape, self.ring.turns
        extents, lanes = self.walks[0].extents, max(self.lanes)
        every = Spread(extents, self.lane, shape.width, lanes, turns, None, shape.threads)
        return replace(every, start=start, stop=None if stop == turns else stop)
