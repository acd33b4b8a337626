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

from hidet.ir.expr import Expr, Load, Maximum, Minimum, Var, constant, convert
from hidet.ir.stmt import Assign, Declare
from hidet.lang import Int, Shared, address, part, static, unroll
from hidet.lang.cuda import (
    fence_mbarrier_init,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    store_to_block,
    syncthreads,
    syncwarp,
    threadIdx,
)
from hidet.schedules.automatic.cuda.grid import write
from hidet.schedules.automatic.cuda.merge import across_warp, restarted
from hidet.schedules.automatic.emit import Accumulator, AnyReduce
from hidet.schedules.automatic.pivot import Pivot, pivot_of
from hidet.schedules.automatic.plan import reductions
from hidet.target import WARP
from hidet.types import DType, Scope, TensorType, f32, i32, u64

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
    def pairs(self) -> list[tuple[Var, Var]]:
        """Where warps are told of a part, and the part."""
        return list(zip(self.told, self.part.variables, strict=True))

    @property
    def value(self) -> Expr:
        """What a thread reduces."""
        return self.reduce.value if self.pivot is None else self.pivot.about(self.seen)


class Meeting:
    """Reductions that need no results of each other, but for sums about what another one tells."""

    def __init__(self, totals: dict[int, Accumulator], crowd: Crowd) -> None:
        self.crowd = crowd
        self.parts = {n: Part(each, n, crowd.warps) for n, each in totals.items()}
        self.numbers = tuple(totals)
        self.bars = Var(f"bars{min(totals)}", TensorType(u64, (ROWS,), Scope.SHARED))
        self.of = {each.reduce: each for each in self.parts.values()}
        for each in self.parts.values():
            pivot = pivot_of(each.reduce)
            each.pivot = pivot if pivot and pivot.first in self.of else None

    @part
    def prepare(self) -> None:
        """What warps tell each other, where blocks meet, and the results."""
        write([Declare(told) for told, _ in self.pairs])
        if self.crowd.blocks > 1:
            write([Declare(self.bars)])
            if threadIdx.x == 0:
                for row in static(range(ROWS)):
                    mbarrier_init(self.bar(row), 1)
                fence_mbarrier_init()
        for each in static(self.parts.values()):
            write(each.total.start())

    def bar(self, row: Expr) -> Expr:
        """Where the blocks meet for a row."""
        return address(self.bars, row % ROWS)

    def start(self, number: int) -> Accumulator:
        """A thread begins to reduce what it has of a row."""
        each = self.parts[number]
        if each.pivot is not None:
            found = self.of[each.pivot.first].part.value
            own = each.pivot.own(found, self.crowd.count(self.crowd.lane, 1, found.dtype))
            write([Declare(each.own, own), Declare(each.seen, each.pivot.usable(each.own))])
        write(each.part.start())
        return each.part

    @part
    def finish(self, again: Int) -> None:
        """Each warp tells all blocks what it found in the block's row number `again`; all meet;
        then each warp puts the parts of all warps together."""
        if self.crowd.blocks > 1:  # a warp has read what it was told of the row before the last
            if threadIdx.x == 0:
                mbarrier_arrive_expect_tx(self.bar(again), self.told_bytes)
            syncwarp()
        for each in static(self.parts.values()):
            self.about_warp(each)
            across_warp(each.part)
        if threadIdx.x % WARP < self.crowd.blocks:
            for told, found in static(self.pairs):
                self.tell(told, convert(found, told.dtype), again)
        if self.crowd.blocks > 1:
            mbarrier_wait(self.bar(again), again // ROWS % 2)
        else:
            syncthreads()
        for whole in static(self.parts.values()):
            self.put_together(whole, again)

    @property
    def pairs(self) -> list[tuple[Var, Var]]:
        """All that warps are told, where and what."""
        return [pair for each in self.parts.values() for pair in each.pairs]

    @property
    def told_bytes(self) -> int:
        """Bytes that a block is told of a row."""
        return sum(told.dtype.nbytes for told, _ in self.pairs) * self.crowd.warps

    def about_warp(self, each: Part) -> None:
        """A thread's sum, seen from the centre of its warp."""
        if each.pivot is None:
            return
        crowd, dtype = self.crowd, each.own.dtype
        found = self.of[each.pivot.first].part.value  # all of the warp know by now
        centre = each.pivot.own(found, crowd.count(crowd.lane // WARP * WARP, WARP, dtype))
        count = crowd.count(crowd.lane, 1, dtype)
        total = each.part.value
        moved = each.pivot.moved(total, each.own, each.pivot.usable(centre), count)
        write([Assign(total, moved)])

    @part
    def tell(self, told: Shared, found: Expr, again: Int) -> None:
        """Tell the block whose number in the cluster is that of this lane in its warp."""
        if self.crowd.blocks == 1:
            told[again % ROWS, self.crowd.lane // WARP] = found
        else:
            there = address(told, again % ROWS, self.crowd.lane // WARP)
            store_to_block(there, found, self.bar(again), threadIdx.x % WARP)

    @part
    def put_together(self, each: Part, again: Int) -> None:
        """A warp puts the parts of all warps together."""
        self.see_from_centre(each)
        write(restarted(each.total))
        for turn in unroll(-(-self.crowd.warps // WARP)):
            if self.crowd.warps % WARP == 0 or turn * WARP + threadIdx.x % WARP < self.crowd.warps:
                warp = turn * WARP + threadIdx.x % WARP
                write(each.total.merge(self.told_by(each, again, warp)))
        across_warp(each.total)

    def see_from_centre(self, each: Part) -> None:
        """The centre that the first reduction tells, if it is a sum about one."""
        if each.pivot is not None:
            found = self.of[each.pivot.first].total.value
            count = constant(self.crowd.elements, found.dtype)
            write([Declare(each.centre, each.pivot.own(found, count))])

    def told_by(self, each: Part, row: Expr, warp: Expr) -> Sequence[Expr]:
        """What a warp found, a sum seen from the centre of all."""
        found = [convert(Load(told, (row % ROWS, warp)), var.dtype) for told, var in each.pairs]
        if each.pivot is None:
            return found
        (told,) = self.of[each.pivot.first].told
        count = self.crowd.count(warp * WARP, WARP, told.dtype)
        own = each.pivot.own(Load(told, (row % ROWS, warp)), count)
        return [each.pivot.moved(found[0], own, each.centre, count)]


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
