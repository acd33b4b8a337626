"""Every index of a row, spread over the threads that share it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Expr, Value
from hidet.lang import part, static, unroll, vectorize
from hidet.lang.loops import Range, Static, span
from hidet.schedules.automatic.cuda.grid import THREAD
from hidet.schedules.automatic.cuda.kept import Kept
from hidet.schedules.automatic.emit import ceil_div
from hidet.types import Scope, Size

Place = tuple[Expr, ...]
Element = Callable[[Place, Expr, Kept | None], None]
"""Writes what is done with an element: its index, its place in what is kept, and what that is."""
WRITTEN_OUT = 4
"""Turns that are written out, so that the loads of all of them are in flight together."""


@dataclass(frozen=True)
class Spread:
    """Every index below `extents`, `lanes` neighbours at once, over `width` threads in turns.

    `lane` is the number of a thread among those.

    Up to `most` turns are written out, of more `few`; turns before `start` and from `stop` on are
    left out.
    """

    extents: tuple[Size, ...]
    lane: Expr
    width: int
    lanes: int
    most: int
    kept: Kept | None
    threads: int
    """Those of the block, which may have several rows."""
    start: int = 0
    stop: int | None = None
    kept_from: int = 0
    """The turn whose elements are the first in `kept`."""
    few: int = WRITTEN_OUT

    @property
    def chunked(self) -> tuple[Size, ...]:
        """The extents, counted in neighbours that a thread takes at once."""
        return (*self.extents[:-1], self.extents[-1] // self.lanes)

    @part
    def each(self, element: Element) -> None:
        """`element(index, slot, kept)` for all of them; `slot` is its place in `kept`."""
        rounds, together, chunks = self.turns()
        for outer in rounds:
            for turn in unroll(together):
                if chunks is None or self.chunk(outer * together + turn) < chunks:
                    for v in vectorize(self.lanes):
                        self.one(element, outer * together + turn, v)

    def turns(self) -> tuple[Range | Static, int, Size | None]:
        """How often so many turns are written out, and where they end, if in the midst of one."""
        chunks = product(self.chunked) if self.stop is None else self.stop * self.width
        turns = ceil_div(chunks, self.width) - self.start
        together = turns if isinstance(turns, int) and turns <= self.most else self.few
        whole = whole_turns(chunks - self.start * self.width, self.width * together)
        rounds = static((0,)) if turns == together else span(ceil_div(turns, together))
        return rounds, together, None if whole else chunks

    def chunk(self, step: Expr) -> Expr:
        """Which neighbours a thread takes in a turn."""
        number = step + self.start
        return number * self.width + self.lane if self.width > 1 else number

    def one(self, element: Element, step: Expr, lane: Expr) -> None:
        """`element` at one of a turn's neighbours, kept in registers or in memory of the block."""
        *outer, last = unravel(self.chunk(step), self.chunked)
        slot = step + (self.start - self.kept_from)
        if self.kept is not None and self.kept.scope is Scope.SHARED:
            slot = slot * self.threads + THREAD
        element((*outer, last * self.lanes + lane), slot * self.lanes + lane, self.kept)


def whole_turns(count: Value, each: int) -> bool:
    """Whether `count` is known to be a multiple of `each`."""
    return isinstance(count, int) and (count == 0 or (each > 0 and count % each == 0))
