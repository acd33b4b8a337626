"""Reductions of a row that its threads finish in one meeting, however many they are.

Each warp tells every block of the row what it found, all meet once, and then each warp puts the
parts of all warps together itself, in the same order: nobody meets again to learn the result, nor
asks another block for its part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hidet.ir.expr import Address, Expr, Load, Maximum, Minimum, Var, constant, convert
from hidet.ir.stmt import Assign, Body, Declare, Invoke, Stmt, Store
from hidet.schedules.automatic.cuda_merge import (
    across_warp,
    cluster_arrives,
    cluster_waits,
    restarted,
)
from hidet.schedules.automatic.emit import Accumulator, AnyReduce, unrolled
from hidet.schedules.automatic.grid import THREAD, guarded
from hidet.schedules.automatic.pivot import Pivot, pivot_of
from hidet.schedules.automatic.plan import reductions
from hidet.target import WARP
from hidet.types import DType, PointerType, Scope, TensorType, i32, u32

ROWS = 2
"""Rows whose parts are there at a time: while some warps read those of one, others may tell those
of the next."""


@dataclass(frozen=True)
class Crowd:
    """The threads of a row of `elements`, of which they take `lanes` neighbours each in turns.

    `lane` is the number of a thread among all `width` of them, which are of `blocks` blocks.
    """

    lane: Expr
    width: int
    blocks: int
    lanes: int
    elements: int

    @property
    def warps(self) -> int:
        """How many warps they are."""
        return self.width // WARP

    def count(self, first: Expr, threads: int, dtype: DType) -> Expr:
        """The elements that so many threads have, from number `first` on."""
        turns, more = divmod(self.elements // self.lanes, self.width)
        if not more:
            return constant(turns * threads * self.lanes, dtype)
        last = Minimum(Maximum(more - first, constant(0, i32)), constant(threads, i32))
        return convert((turns * threads + last) * self.lanes, dtype)


class Part:
    """A reduction on its way: `part` is what a thread found, then its warp; `total` that of all."""

    def __init__(self, total: Accumulator, position: int, warps: int) -> None:
        self.reduce, self.total = total.reduce, total
        self.part = Accumulator(total.reduce, f"_part{position}")
        self.told = [
            Var(f"told{position}_{var.name}", TensorType(var.dtype, (ROWS, warps), Scope.SHARED))
            for var in self.part.variables
        ]
        self.pivot: Pivot | None = None
        self.own, self.seen, self.centre = (
            Var(f"{name}{position}", total.value.dtype) for name in ("own", "seen", "centre")
        )
        """The centre of what a thread has, the same as a number to see values from, that of all."""

    @property
    def value(self) -> Expr:
        """What a thread reduces."""
        return self.reduce.value if self.pivot is None else self.pivot.about(self.seen)


class Meeting:
    """Reductions that need no results of each other, but for sums about what another one tells."""

    def __init__(self, totals: dict[int, Accumulator], crowd: Crowd) -> None:
        self.crowd = crowd
        self.parts = {n: Part(each, n, crowd.warps) for n, each in totals.items()}
        self.of = {part.reduce: part for part in self.parts.values()}
        for part in self.parts.values():
            pivot = pivot_of(part.reduce)
            part.pivot = pivot if pivot and pivot.first in self.of else None

    def declared(self) -> Body:
        """What warps tell each other."""
        return tuple(Declare(told) for part in self.parts.values() for told in part.told)

    def start(self, number: int) -> Body:
        """A thread begins to reduce what it has of a row."""
        part = self.parts[number]
        if part.pivot is None:
            return part.part.start()
        found = self.of[part.pivot.first].part.value
        own = part.pivot.own(found, self.crowd.count(self.crowd.lane, 1, found.dtype))
        seen = part.pivot.usable(part.own)
        return (Declare(part.own, own), Declare(part.seen, seen), *part.part.start())

    def tell(self, row: Expr) -> Body:
        """Each warp tells all blocks what it found in the block's row number `row`."""
        body: list[Stmt] = []
        write: list[Stmt] = []
        place = row % ROWS, self.crowd.lane // WARP
        for part in self.parts.values():
            body += (*self.about_warp(part), *across_warp(part.part))
            for told, var in zip(part.told, part.part.variables, strict=True):
                write += self.written(told, place, var)
        arrive = cluster_arrives() if self.crowd.blocks > 1 else ()
        return (*body, *guarded(THREAD % WARP, self.crowd.blocks, WARP, tuple(write)), *arrive)

    def about_warp(self, part: Part) -> Body:
        """A thread's sum, seen from the centre of its warp."""
        if part.pivot is None:
            return ()
        crowd, dtype = self.crowd, part.own.dtype
        found = self.of[part.pivot.first].part.value  # all of the warp know by now
        centre = part.pivot.own(found, crowd.count(crowd.lane // WARP * WARP, WARP, dtype))
        count = crowd.count(crowd.lane, 1, dtype)
        total = part.part.value
        moved = part.pivot.moved(total, part.own, part.pivot.usable(centre), count)
        return (Assign(total, moved),)

    def written(self, told: Var, place: tuple[Expr, ...], part: Var) -> Body:
        """Write to the block whose number in the cluster is that of this lane in its warp."""
        if self.crowd.blocks == 1:
            return (Store(told, place, part),)
        there, here = Var(f"there_{told.name}", PointerType(told.dtype)), Address(told, place)
        return (
            Declare(there, here),
            Invoke("mapa", (here, convert(THREAD % WARP, u32)), (there,)),
            Store(there, (constant(0, i32),), part),
        )

    def finish(self, row: Expr) -> Body:
        """All meet; then each thread knows the results."""
        meet = cluster_waits() if self.crowd.blocks > 1 else (Invoke("syncthreads"),)
        return (*meet, *(s for part in self.parts.values() for s in self.together(part, row)))

    def together(self, part: Part, row: Expr) -> Body:
        """A warp puts the parts of all warps together."""
        turn, warps = Var("w", i32), self.crowd.warps
        warp = turn * WARP + THREAD % WARP
        merge = part.total.merge(self.told_by(part, row, warp))
        turns = unrolled(turn, -(-warps // WARP), guarded(warp, warps, WARP, merge))
        return (*self.centre_of_all(part), *restarted(part.total), *turns, *across_warp(part.total))

    def centre_of_all(self, part: Part) -> Body:
        """The centre that the first reduction tells, if it is a sum about one."""
        if part.pivot is None:
            return ()
        found = self.of[part.pivot.first].total.value
        count = constant(self.crowd.elements, found.dtype)
        return (Declare(part.centre, part.pivot.own(found, count)),)

    def told_by(self, part: Part, row: Expr, warp: Expr) -> Sequence[Expr]:
        """What a warp found, a sum seen from the centre of all."""
        found = [Load(told, (row % ROWS, warp)) for told in part.told]
        if part.pivot is None:
            return found
        (told,) = self.of[part.pivot.first].told
        count = self.crowd.count(warp * WARP, WARP, told.dtype)
        own = part.pivot.own(Load(told, (row % ROWS, warp)), count)
        return [part.pivot.moved(found[0], own, part.centre, count)]


def meetings(totals: Sequence[Accumulator], crowd: Crowd) -> list[Meeting]:
    """The meetings in which `totals` become known, inner ones first, each as early as it can be."""
    level: dict[AnyReduce, int] = {}
    for each in totals:
        needed = [other for other in reductions(each.reduce.value) if other in level]
        pivot = pivot_of(each.reduce)
        first = pivot.first if pivot else None
        level[each.reduce] = max((level[o] + (o is not first) for o in needed), default=0)
    numbered = list(enumerate(totals))
    return [
        Meeting({n: each for n, each in numbered if level[each.reduce] == number}, crowd)
        for number in range(max(level.values(), default=-1) + 1)
    ]
