"""Reductions of a row that its warps finish with one synchronisation, however many they are.

Each warp sends its partial result to every block of the row, all warps synchronise once, and then
each warp combines the partial results of all warps itself, in the same order: the result needs no
second synchronisation and no block reads another block's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hidet.ir.expr import Expr, Load, Maximum, Minimum, Var, constant, convert
from hidet.ir.stmt import Assign, Declare
from hidet.lang import Int, Shared, address, part, static, unroll
from hidet.lang.cuda import syncthreads, syncwarp, threadIdx
from hidet.schedules.automatic.cuda.cluster_exchange import ClusterExchange, exchange_type
from hidet.schedules.automatic.cuda.grid import write
from hidet.schedules.automatic.cuda.reduce_across import Across, across_warp, restarted
from hidet.schedules.automatic.emit import Accumulator, AnyReduce
from hidet.schedules.automatic.pivot import Pivot, pivot_of
from hidet.schedules.automatic.plan import reductions
from hidet.target import WARP
from hidet.types import DType, Scope, TensorType, i32

ROWS = 2
"""Rows whose partial results have place at a time: while some warps read those of one row, others
may send those of the next."""


@dataclass(frozen=True)
class Participants:
    """The threads that share a row of `elements`: each takes `lanes` neighbours per iteration.

    `lane` is the number of a thread among all `width` of them, which are of `blocks` blocks.
    """

    lane: Expr
    width: int
    blocks: int
    lanes: int
    elements: int

    @property
    def warps(self) -> int:
        """How many warps share the row."""
        return self.width // WARP

    def count(self, first: Expr, threads: int, dtype: DType) -> Expr:
        """The elements of so many threads, from number `first` on."""
        iterations, more = divmod(self.elements // self.lanes, self.width)
        if not more:
            return constant(iterations * threads * self.lanes, dtype)
        last = Minimum(Maximum(more - first, constant(0, i32)), constant(threads, i32))
        return convert((iterations * threads + last) * self.lanes, dtype)


class PartialReduction:
    """One of the reductions: `part` is the result of a thread, then of its warp; `total` of all."""

    def __init__(self, total: Accumulator, position: int, warps: int) -> None:
        self.reduce, self.total = total.reduce, total
        self.part = Accumulator(total.reduce, f"_own{position}")
        self.partials = [
            Var(
                f"partial{position}_{var.name}",
                TensorType(exchange_type(var.dtype), (ROWS, warps), Scope.SHARED),
            )
            for var in self.part.variables
        ]
        self.pivot: Pivot | None = None
        self.own, self.seen, self.centre = (
            Var(f"{name}{position}", total.value.dtype) for name in ("own", "seen", "centre")
        )
        """The centre of a thread's elements, the same as a usable number, and that of the row."""

    @property
    def pairs(self) -> list[tuple[Var, Var]]:
        """The array of the warps' partial results, and the variable of this warp's."""
        return list(zip(self.partials, self.part.variables, strict=True))

    @property
    def value(self) -> Expr:
        """What a thread reduces."""
        return self.reduce.value if self.pivot is None else self.pivot.about(self.seen)


class CrossWarpReduction(Across):
    """Reductions that need no results of each other, but for sums about the result of another."""

    def __init__(self, accumulators: dict[int, Accumulator], participants: Participants) -> None:
        self.participants = participants
        self.parts = {
            n: PartialReduction(each, n, participants.warps) for n, each in accumulators.items()
        }
        self.numbers = tuple(accumulators)
        self.exchange = ClusterExchange(f"barriers{min(accumulators)}", ROWS)
        self.of = {each.reduce: each for each in self.parts.values()}
        for each in self.parts.values():
            pivot = pivot_of(each.reduce)
            each.pivot = pivot if pivot and pivot.first in self.of else None

    @part
    def prepare(self) -> None:
        write([Declare(partials) for partials, _ in self.pairs])
        if self.participants.blocks > 1:
            self.exchange.initialise(())
        for each in static(self.parts.values()):
            write(each.total.start())

    def start(self, number: int) -> Accumulator:
        each = self.parts[number]
        if each.pivot is not None:
            found = self.of[each.pivot.first].part.value
            own = each.pivot.own(
                found, self.participants.count(self.participants.lane, 1, found.dtype)
            )
            write([Declare(each.own, own), Declare(each.seen, each.pivot.usable(each.own))])
        write(each.part.start())
        return each.part

    @part
    def finish(self, iteration: Int) -> None:
        """Each warp sends its partial results of the block's row number `iteration` to all blocks;
        all synchronise; then each warp combines the partial results of all warps."""
        if self.participants.blocks > 1:
            # This warp has read the partial results of the row before the last.
            if threadIdx.x == 0:
                self.exchange.expect(iteration % ROWS, self.received_bytes)
            syncwarp()
        for each in static(self.parts.values()):
            self.recentre(each)
            across_warp(each.part)
        if threadIdx.x % WARP < self.participants.blocks:
            for partials, found in static(self.pairs):
                self.send(partials, convert(found, partials.dtype), iteration)
        if self.participants.blocks > 1:
            self.exchange.wait(iteration % ROWS, iteration // ROWS % 2)
        else:
            syncthreads()
        for whole in static(self.parts.values()):
            self.combine(whole, iteration)

    @property
    def pairs(self) -> list[tuple[Var, Var]]:
        """The arrays of partial results and the variables that go there."""
        return [pair for each in self.parts.values() for pair in each.pairs]

    @property
    def received_bytes(self) -> int:
        """Bytes that a block receives of a row."""
        return sum(partials.dtype.nbytes for partials, _ in self.pairs) * self.participants.warps

    def recentre(self, each: PartialReduction) -> None:
        """Move a thread's sum to the centre of its warp."""
        if each.pivot is None:
            return
        participants, dtype = self.participants, each.own.dtype
        found = self.of[each.pivot.first].part.value  # by now the result of the warp
        centre = each.pivot.own(
            found, participants.count(participants.lane // WARP * WARP, WARP, dtype)
        )
        count = participants.count(participants.lane, 1, dtype)
        total = each.part.value
        moved = each.pivot.moved(total, each.own, each.pivot.usable(centre), count)
        write([Assign(total, moved)])

    @part
    def send(self, partials: Shared, found: Expr, iteration: Int) -> None:
        """Send to the block whose number in the cluster is that of this lane in its warp."""
        if self.participants.blocks == 1:
            partials[iteration % ROWS, self.participants.lane // WARP] = found
        else:
            there = address(partials, iteration % ROWS, self.participants.lane // WARP)
            self.exchange.send(there, found, iteration % ROWS, threadIdx.x % WARP)

    @part
    def combine(self, each: PartialReduction, iteration: Int) -> None:
        """A warp combines the partial results of all warps."""
        self.declare_centre(each)
        write(restarted(each.total))
        for step in unroll(-(-self.participants.warps // WARP)):
            if (
                self.participants.warps % WARP == 0
                or step * WARP + threadIdx.x % WARP < self.participants.warps
            ):
                warp = step * WARP + threadIdx.x % WARP
                write(each.total.merge(self.partial_of(each, iteration, warp)))
        across_warp(each.total)

    def declare_centre(self, each: PartialReduction) -> None:
        """Declare the centre of the row, of which the first reduction gives the result."""
        if each.pivot is not None:
            found = self.of[each.pivot.first].total.value
            count = constant(self.participants.elements, found.dtype)
            write([Declare(each.centre, each.pivot.own(found, count))])

    def partial_of(self, each: PartialReduction, row: Expr, warp: Expr) -> Sequence[Expr]:
        """The partial result of a warp, a sum moved to the centre of the row."""
        found = [
            convert(Load(partials, (row % ROWS, warp)), var.dtype) for partials, var in each.pairs
        ]
        if each.pivot is None:
            return found
        (partials,) = self.of[each.pivot.first].partials
        count = self.participants.count(warp * WARP, WARP, partials.dtype)
        own = each.pivot.own(Load(partials, (row % ROWS, warp)), count)
        return [each.pivot.moved(found[0], own, each.centre, count)]


def cross_warp_reductions(
    accumulators: Sequence[Accumulator], participants: Participants
) -> list[CrossWarpReduction]:
    """`accumulators` in groups that finish together, inner ones first, each as early as it can."""
    level: dict[AnyReduce, int] = {}
    for each in accumulators:
        needed = [other for other in reductions(each.reduce.value) if other in level]
        pivot = pivot_of(each.reduce)
        first = pivot.first if pivot else None
        level[each.reduce] = max((level[o] + (o is not first) for o in needed), default=0)
    numbered = list(enumerate(accumulators))
    return [
        CrossWarpReduction(
            {n: each for n, each in numbered if level[each.reduce] == number}, participants
        )
        for number in range(max(level.values(), default=-1) + 1)
    ]
