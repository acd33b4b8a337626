"""Reductions of a row that its threads finish in one meeting, however many they are.

Each warp tells every block of the row what it found, all meet once, and then each warp puts the
parts of all warps together itself, in the same order: nobody meets again to learn the result, nor
asks another block for its part.

The blocks of a cluster meet at mbarriers, where what is told arrives by itself: the barrier of a
cluster would pass on all that was written before, and wait for the results of the row before to
arrive in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hidet.ir.expr import Address, Expr, Load, Maximum, Minimum, Var, constant, convert
from hidet.ir.stmt import Assign, Body, Declare, If, Invoke, Stmt, Store
from hidet.schedules.automatic.cuda.grid import THREAD, guarded
from hidet.schedules.automatic.cuda.merge import across_warp, restarted
from hidet.schedules.automatic.emit import Accumulator, AnyReduce, unrolled
from hidet.schedules.automatic.pivot import Pivot, pivot_of
from hidet.schedules.automatic.plan import reductions
from hidet.target import WARP
from hidet.types import DType, Scope, TensorType, f32, i32, u32, u64

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
            Var(
                f"told{position}_{var.name}",
                TensorType(spoken(var.dtype), (ROWS, warps), Scope.SHARED),
            )
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
        self.bars = Var(f"bars{min(totals)}", TensorType(u64, (ROWS,), Scope.SHARED))
        self.of = {part.reduce: part for part in self.parts.values()}
        for part in self.parts.values():
            pivot = pivot_of(part.reduce)
            part.pivot = pivot if pivot and pivot.first in self.of else None

    def declared(self) -> Body:
        """What warps tell each other, and where blocks meet."""
        told = tuple(Declare(told) for part in self.parts.values() for told in part.told)
        if self.crowd.blocks == 1:
            return told
        one = constant(1, i32)
        begin = tuple(
            Invoke("mbarrier_init", (self.bar(constant(n, i32)), one)) for n in range(ROWS)
        )
        begin += (Invoke("fence_mbarrier_init"),)
        return (*told, Declare(self.bars), If(THREAD.eq(0), begin))

    def bar(self, row: Expr) -> Expr:
        """Where the blocks meet for a row."""
        return Address(self.bars, (row % ROWS,))

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
        for part in self.parts.values():
            body += (*self.about_warp(part), *across_warp(part.part))
            for told, var in zip(part.told, part.part.variables, strict=True):
                write.append(self.written(told, var, row))
        body += guarded(THREAD % WARP, self.crowd.blocks, WARP, tuple(write))
        return (*body,) if self.crowd.blocks == 1 else (*self.expect(row), *body)

    def expect(self, row: Expr) -> Body:
        """This block has yet to be told of a row; a warp has read what it was told of others."""
        told = [told.dtype.nbytes for part in self.parts.values() for told in part.told]
        nbytes = constant(sum(told) * self.crowd.warps, i32)
        expect = Invoke("mbarrier_arrive_expect_tx", (self.bar(row), nbytes))
        return (If(THREAD.eq(0), (expect,)), Invoke("syncwarp"))

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

    def written(self, told: Var, part: Var, row: Expr) -> Stmt:
        """Tell the block whose number in the cluster is that of this lane in its warp."""
        place, value = (row % ROWS, self.crowd.lane // WARP), convert(part, told.dtype)
        if self.crowd.blocks == 1:
            return Store(told, place, value)
        block = convert(THREAD % WARP, u32)
        return Invoke("store_to_block", (Address(told, place), value, self.bar(row), block))

    def finish(self, row: Expr) -> Body:
        """All meet; then each thread knows the results."""
        meet = Invoke("syncthreads")
        if self.crowd.blocks > 1:
            parity = row // ROWS % 2
            meet = Invoke("mbarrier_wait", (self.bar(row), parity), options=("parity",))
        return (meet, *(s for part in self.parts.values() for s in self.together(part, row)))

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
        pairs = zip(part.told, part.part.variables, strict=True)
        found = [convert(Load(told, (row % ROWS, warp)), var.dtype) for told, var in pairs]
        if part.pivot is None:
            return found
        (told,) = self.of[part.pivot.first].told
        count = self.crowd.count(warp * WARP, WARP, told.dtype)
        own = part.pivot.own(Load(told, (row % ROWS, warp)), count)
        return [part.pivot.moved(found[0], own, part.centre, count)]


def spoken(of: DType) -> DType:
    """The type in which others are told of a value: stores to other blocks have four bytes."""
    if of.nbytes >= 4:
        return of
    return f32 if of.is_float else i32


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
