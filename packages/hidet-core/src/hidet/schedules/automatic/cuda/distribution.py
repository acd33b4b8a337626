"""The elements of a row, distributed over the threads that share it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Expr
from hidet.lang import part, static, unroll, vectorize
from hidet.lang.loops import Range, Static, span
from hidet.schedules.automatic.cuda.grid import THREAD, is_multiple
from hidet.schedules.automatic.cuda.resident import Resident
from hidet.schedules.automatic.emit import ceil_div
from hidet.types import Scope, Size

Place = tuple[Expr, ...]
UNROLLED = 4
"""Iterations that are unrolled, so that the loads of all of them are in flight together."""


@dataclass(frozen=True)
class Element:
    """An element of a row: its index, and its slot in the resident values."""

    place: Place
    slot: Expr
    resident: Resident | None


Visit = Callable[[Element], None]
"""Emits the code of an element."""


@dataclass(frozen=True)
class Distribution:
    """Every index below `extents`: each of `width` threads takes `lanes` neighbours per iteration.

    `lane` is the number of a thread among those.

    Up to `most` iterations are unrolled, of more `few` at a time; iterations before `start` and
    from `stop` on are left out.
    """

    extents: tuple[Size, ...]
    lane: Expr
    width: int
    lanes: int
    most: int
    resident: Resident | None
    threads: int
    """Those of the block, which may have several rows."""
    start: int = 0
    stop: int | None = None
    resident_from: int = 0
    """The iteration whose elements are the first in `resident`."""
    few: int = UNROLLED

    @property
    def chunked(self) -> tuple[Size, ...]:
        """The extents, counted in neighbours that a thread takes at once."""
        return (*self.extents[:-1], self.extents[-1] // self.lanes)

    @part
    def each(self, visit: Visit) -> None:
        """`visit` all of them."""
        outer_loop, unrolled, chunks = self.iterations()
        for outer in outer_loop:
            for step in unroll(unrolled):
                if chunks is None or self.chunk(outer * unrolled + step) < chunks:
                    for v in vectorize(self.lanes):
                        visit(self.element(outer * unrolled + step, v))

    def iterations(self) -> tuple[Range | Static, int, Size | None]:
        """The loop, how many iterations it unrolls, and where elements end, if inside of one."""
        chunks = product(self.chunked) if self.stop is None else self.stop * self.width
        iterations = ceil_div(chunks, self.width) - self.start
        unrolled = (
            iterations if isinstance(iterations, int) and iterations <= self.most else self.few
        )
        whole = is_multiple(chunks - self.start * self.width, self.width * unrolled)
        outer_loop = (
            static((0,)) if iterations == unrolled else span(ceil_div(iterations, unrolled))
        )
        return outer_loop, unrolled, None if whole else chunks

    def chunk(self, step: Expr) -> Expr:
        """Which neighbours a thread takes in an iteration."""
        number = step + self.start
        return number * self.width + self.lane if self.width > 1 else number

    def element(self, step: Expr, lane: Expr) -> Element:
        """One neighbour of an iteration."""
        *outer, last = unravel(self.chunk(step), self.chunked)
        slot = step + (self.start - self.resident_from)
        if self.resident is not None and self.resident.scope is Scope.SHARED:
            slot = slot * self.threads + THREAD
        place = (*outer, last * self.lanes + lane)
        return Element(place, slot * self.lanes + lane, self.resident)
