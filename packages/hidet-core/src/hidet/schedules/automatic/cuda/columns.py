"""Reductions along an axis that is not the innermost one, on CUDA.

Neighbouring threads take neighbouring columns, 16 bytes of them each; `deep` threads share a column
and combine their partial results by shuffles in their warps, then in shared memory, in a fixed
order. Where that makes too few blocks, they are narrower and have more threads, and the blocks of a
cluster share columns too: partial results arrive at mbarriers, since the barrier of a cluster would
wait for every thread. Every reduction is computed once; then the elements are written.
"""

from __future__ import annotations

from collections.abc import Sequence

from hidet.compute import Reduce
from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Expr, Load, Value, Var, constant
from hidet.ir.stmt import Store
from hidet.ir.walk import replaced, substitute
from hidet.lang import part
from hidet.lang.cuda import cluster_arrive
from hidet.schedules.automatic.cuda.cluster_exchange import ClusterExchange
from hidet.schedules.automatic.cuda.column_reduction import ColumnReduction
from hidet.schedules.automatic.cuda.column_shape import ColumnShape
from hidet.schedules.automatic.cuda.distribution import Distribution, Element, Visit
from hidet.schedules.automatic.cuda.grid import BLOCK, THREAD, guarded, is_multiple, write
from hidet.schedules.automatic.cuda.reduction import Reduction, Row
from hidet.schedules.automatic.emit import (
    Accumulator,
    AnyReduce,
    ceil_div,
    joined,
    put,
    with_serial_reductions,
)
from hidet.schedules.automatic.plan import MapStage
from hidet.types import i32

IN_FLIGHT = 8
"""Rows that a thread reads before it adds the first."""


class Columns(Reduction):
    """Passes over the columns of a block, which are all in one iteration."""

    shape: ColumnShape
    reductions: Sequence[ColumnReduction]
    reduces: Sequence[Reduce]

    def __init__(self, stage: MapStage, shape: ColumnShape, reduces: Sequence[AnyReduce]) -> None:
        self.stage, self.shape = stage, shape
        self.reduces = [each for each in reduces if isinstance(each, Reduce)]
        self.min_blocks, self.pdl_trigger = shape.min_blocks, shape.pdl_trigger
        self.sizes = dict(zip(stage.vars, stage.shape, strict=True))
        self.inner = [self.sizes[var] for var in shape.inner_vars]
        self.across = THREAD % shape.across if shape.deep > 1 else THREAD
        self.down: Expr = THREAD // shape.across if shape.deep > 1 else constant(0, i32)
        self.exchange = ClusterExchange("barriers", len(self.reduces))
        self.known: dict[Expr, Var] = {}
        """Where the results of each reduction so far are: by lane, or by column of the block."""
        last = len(self.reduces) - 1 if not self.inner else None
        self.reductions = [
            ColumnReduction(
                shape, self.exchange, each, n, self.known, self.write_column if n == last else None
            )
            for n, each in enumerate(self.reduces)
        ]
        columns = [self.sizes[var] for var in shape.column_vars]
        self.chunked = (*columns[:-1], columns[-1] // shape.lanes)
        self.chunks = product(self.chunked)
        tiles = ceil_div(self.chunks, shape.across)
        outer = [self.sizes[var] for var in shape.outer_vars]
        self.clusters = product([tiles, *outer])
        number: Expr = BLOCK
        if shape.blocks > 1:
            number = BLOCK // shape.blocks
            self.down = BLOCK % shape.blocks * shape.deep + self.down
        self.first: Expr = (number % tiles if outer else number) * shape.across
        self.chunk = self.first + self.across
        self.index: dict[Var, Expr] = dict.fromkeys(stage.vars, constant(0, i32))
        self.index |= zip(shape.outer_vars, unravel(number // tiles, outer), strict=True)

    @part
    def begin(self) -> None:
        if self.shape.blocks > 1:
            self.exchange.initialise([each.received_bytes for each in self.reductions])

    @part
    def join_cluster(self) -> None:
        cluster_arrive(relaxed=True)  # the first reduction waits, once it has read

    def row(self, iteration: Value) -> Row:
        return Row(iteration, self.index)

    def load(self, row: Row) -> None:
        """Passes read what they need."""

    def here(self, chunk: Expr, lane: Expr) -> dict[Var, Expr]:
        """The stage's index at a lane of a chunk of columns."""
        *outer, chunk = unravel(chunk, self.chunked)
        place = (*outer, chunk * self.shape.lanes + lane)
        return self.index | dict(zip(self.shape.column_vars, place, strict=True))

    def results(self, lane: Expr) -> dict[Expr, Expr]:
        """The reductions so far, of a lane of this thread's columns."""
        first = self.across * self.shape.lanes if self.shape.deep > 1 else constant(0, i32)
        return {each: Load(found, (first + lane,)) for each, found in self.known.items()}

    @property
    def inside(self) -> Expr | bool:
        """Whether this thread's columns are some."""
        return is_multiple(self.chunks, self.shape.across) or self.chunk < self.chunks

    @part
    def run_pass(self, number: int, visit: Visit) -> None:
        if self.inside:
            self.distribution(number).each(visit)

    def distribution(self, number: int) -> Distribution:
        """This thread's rows of a pass, a few of them in flight, and its lanes."""
        shape = self.shape
        rows = self.reduces[number].extents if number < len(self.reduces) else self.inner
        return Distribution(
            (*rows, shape.lanes), self.down, shape.participants, shape.lanes, IN_FLIGHT, None,
            shape.threads, few=IN_FLIGHT,
        )  # fmt: skip

    def take(self, number: int, row: Row, into: Var, element: Element) -> None:
        *down, lane = element.place
        reduce = self.reduces[number]
        here = self.here(self.chunk, lane) | dict(zip(reduce.vars, down, strict=True))
        value = substitute(replaced(reduce.value, self.results(lane)), here)
        before, result = with_serial_reductions(value, {})
        update = joined(reduce.how, Load(into, (lane,)), result)
        write((*before, Store(into, (lane,), update)))

    def write_column(self, reduce: Reduce, total: Accumulator) -> None:
        """Write the element of the one column whose last result this thread has."""
        chunk, lane = self.first + THREAD // self.shape.lanes, THREAD % self.shape.lanes
        known: dict[Expr, Expr] = {e: Load(found, (THREAD,)) for e, found in self.known.items()}
        written = put(self.stage, self.here(chunk, lane), known | {reduce: total.value})
        write(guarded(chunk, self.chunks, self.shape.across, written))

    @part
    def write(self, row: Row) -> None:
        if self.inner or self.shape.deep == 1:
            self.run_pass(len(self.reduces), self.put)

    def put(self, element: Element) -> None:
        """Write the elements of a row and a lane."""
        *down, lane = element.place
        where = dict(zip(self.shape.inner_vars, down, strict=True))
        write(put(self.stage, self.here(self.chunk, lane) | where, self.results(lane)))
