"""Reductions along an axis that is not the innermost one, on CUDA.

Neighbouring threads take neighbouring columns, 16 bytes of them each; `deep` threads share a column
and combine their partial results by shuffles in their warps, then in shared memory, in a fixed
order. Where that makes too few blocks, they are narrower and have more threads, and the blocks of a
cluster share columns too: partial results arrive at mbarriers, since the barrier of a cluster would
wait for every thread. Every reduction is computed once; then the elements are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hidet.compute import Reduce
from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Expr, Load, Var, constant, convert, wrap
from hidet.ir.kernel import ONE, Kernel
from hidet.ir.stmt import Declare, Store
from hidet.ir.walk import replaced, substitute
from hidet.lang import (
    Registers,
    Shared,
    address,
    attr,
    meta,
    part,
    script,
    shared_tensor,
    static,
    unroll,
    vectorize,
)
from hidet.lang.cuda import (
    blockIdx,
    cluster_arrive,
    cluster_wait,
    fence_mbarrier_init,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    store_to_block,
    syncthreads,
    threadIdx,
)
from hidet.schedules.automatic.access import read_once
from hidet.schedules.automatic.cuda.column_shape import Columns
from hidet.schedules.automatic.cuda.cross_warp_reduction import exchange_type
from hidet.schedules.automatic.cuda.distribution import Distribution, Place, is_multiple
from hidet.schedules.automatic.cuda.grid import BLOCK, THREAD, guarded, write
from hidet.schedules.automatic.cuda.merge import add_up
from hidet.schedules.automatic.cuda.resident import Resident
from hidet.schedules.automatic.emit import (
    Accumulator,
    AnyReduce,
    ceil_div,
    joined,
    put,
    with_serial_reductions,
)
from hidet.schedules.automatic.plan import MapStage
from hidet.schedules.cuda.lane_sums import LaneSums
from hidet.target import WARP
from hidet.types import DType, Scope, Size, TensorType, i32, u64

LANES = (1, 2, 4, 8, 16)
"""The bits in which numbers of lanes differ."""
IN_FLIGHT = 8
"""Rows that a thread reads before it adds the first."""


def columns_kernel(
    stage: MapStage, name: str, params: tuple[Var, ...], shape: Columns, reduces: list[AnyReduce]
) -> Kernel:
    """Blocks that each compute the reductions of some columns, then write their elements."""
    work = Writer(stage, shape, reduces)

    @script(operands=meta.types(params))
    def columns(operands: Any) -> None:
        attr.func_name = name
        attr.cuda_block_dim = shape.threads
        attr.cuda_cluster_dim = shape.blocks
        attr.cuda_min_blocks = shape.min_blocks
        if shape.blocks > 1:
            work.prepare()
        for position in static(range(work.count)):
            work.reduction(position)
        if shape.inner_vars or shape.deep == 1:
            work.elements()

    grid = (wrap(work.blocks), ONE, ONE)
    launch = replace(columns.kernel.launch, grid=grid, pdl_trigger=shape.pdl_trigger)
    return replace(columns.kernel, launch=launch, once=work.once())


class Writer:
    """One kernel in the making."""

    def __init__(self, stage: MapStage, shape: Columns, reduces: Sequence[AnyReduce]) -> None:
        self.stage, self.shape, self.count = stage, shape, len(reduces)
        self.reduces = [each for each in reduces if isinstance(each, Reduce)]
        self.extents = [each.extents for each in self.reduces]
        self.sizes = dict(zip(stage.vars, stage.shape, strict=True))
        self.inner = [self.sizes[var] for var in shape.inner_vars]
        self.across = THREAD % shape.across if shape.deep > 1 else THREAD
        self.down: Expr = THREAD // shape.across if shape.deep > 1 else constant(0, i32)
        self.bars = Var("bars", TensorType(u64, (self.count,), Scope.SHARED))
        self.known: dict[Expr, Var] = {}
        """Of each reduction so far, where its results are: by lane, or by column of the block."""
        columns = [self.sizes[var] for var in shape.column_vars]
        self.chunked = (*columns[:-1], columns[-1] // shape.lanes)
        self.chunks = product(self.chunked)
        tiles = ceil_div(self.chunks, shape.across)
        outer = [self.sizes[var] for var in shape.outer_vars]
        self.blocks = product([tiles, *outer, shape.blocks])
        number: Expr = BLOCK
        if shape.blocks > 1:
            number = BLOCK // shape.blocks
            self.down = BLOCK % shape.blocks * shape.deep + self.down
        self.first: Expr = (number % tiles if outer else number) * shape.across
        self.chunk = self.first + self.across
        self.index: dict[Var, Expr] = dict.fromkeys(stage.vars, constant(0, i32))
        self.index |= zip(shape.outer_vars, unravel(number // tiles, outer), strict=True)

    @part
    def prepare(self) -> None:
        """Initialise the barriers at which the partial results of each reduction arrive."""
        write([Declare(self.bars)])
        if threadIdx.x == 0:
            for position in static(range(self.count)):
                mbarrier_init(self.bar(position), 1)
                mbarrier_arrive_expect_tx(self.bar(position), self.received_bytes(position))
            fence_mbarrier_init()
        cluster_arrive(relaxed=True)

    def bar(self, position: int) -> Expr:
        """The barrier of a reduction."""
        return address(self.bars, position)

    def received_bytes(self, position: int) -> int:
        """Bytes of partial results that a block receives of a reduction."""
        return self.shape.blocks * self.shape.width * exchange_type(self.dtype(position)).nbytes

    def dtype(self, position: int) -> DType:
        """The type of a reduction."""
        return self.reduces[position].value.dtype

    def once(self) -> tuple[Var, ...]:
        """The tensors of which nothing is needed again, in a kernel that writes little."""
        if self.count > 1 or self.shape.inner_vars:
            return ()
        (reduce,) = self.reduces
        sizes = self.sizes | dict(zip(reduce.vars, reduce.extents, strict=True))
        return read_once(reduce.value, [var for var, size in sizes.items() if size != 1])

    def here(self, chunk: Expr, lane: Expr) -> dict[Var, Expr]:
        """The stage's index at a lane of a chunk of columns."""
        *outer, chunk = unravel(chunk, self.chunked)
        place = (*outer, chunk * self.shape.lanes + lane)
        return self.index | dict(zip(self.shape.column_vars, place, strict=True))

    def results(self, lane: Expr) -> dict[Expr, Expr]:
        """The reductions so far, of a lane of this thread's columns."""
        first = self.across * self.shape.lanes if self.shape.deep > 1 else constant(0, i32)
        return {each: Load(resident, (first + lane,)) for each, resident in self.known.items()}

    @property
    def inside(self) -> Expr | bool:
        """Whether this thread's columns are some."""
        return is_multiple(self.chunks, self.shape.across) or self.chunk < self.chunks

    @property
    def is_column(self) -> Expr | bool:
        """Whether this thread has a column of the block to itself."""
        return self.shape.width % self.shape.threads == 0 or self.shape.width > THREAD

    def rows(self, extents: Sequence[Size]) -> Distribution:
        """This thread's rows, a few of them in flight, and its lanes."""
        shape = self.shape
        whole = (*extents, shape.lanes)
        return Distribution(
            whole, self.down, shape.participants, shape.lanes, IN_FLIGHT, None, shape.threads,
            few=IN_FLIGHT,
        )  # fmt: skip

    @part
    def reduction(self, position: int) -> None:
        """One reduction of all columns; afterwards every thread can read the results, or elements
        that are one for each column are written."""
        own = self.start(position)
        if self.inside:
            self.rows(self.extents[position]).each(partial(self.take, position, own))
        if self.shape.deep > 1:
            self.meet(position, own)
        else:
            self.know(position, own)

    def start(self, position: int) -> Var:
        """Start the reduction of a thread's columns."""
        of = TensorType(self.dtype(position), (self.shape.lanes,), Scope.REGISTER)
        own = Var(f"partial{position}", of)
        write([Declare(own, self.reduces[position].identity)])
        return own

    def know(self, position: int, where: Any) -> None:
        """Record where the results of a reduction are."""
        self.known[self.reduces[position]] = where

    def take(
        self, position: int, own: Var, place: Place, slot: Expr, resident: Resident | None
    ) -> None:
        """Accumulate the element of a row and a lane."""
        *row, lane = place
        reduce = self.reduces[position]
        here = self.here(self.chunk, lane) | dict(zip(reduce.vars, row, strict=True))
        value = substitute(replaced(reduce.value, self.results(lane)), here)
        before, result = with_serial_reductions(value, {})
        update = joined(reduce.how, Load(own, (lane,)), result)
        write((*before, Store(own, (lane,), update)))

    @part
    def meet(self, position: int, own: Registers) -> None:
        """Combine the partial results of the threads of each column: in a warp, then in the order
        of warps, then of the blocks of a cluster, which send them to each other."""
        shape, warp_sums, last = self.shape, self.warp_sums(position), self.ends(position)
        parts = shared_tensor(own.dtype, (shape.threads // WARP, shape.width))
        warp_sums.add(own)
        if shape.across * shape.lanes // warp_sums.held == WARP or self.holds(warp_sums):
            for v in vectorize(warp_sums.held):
                column = self.across * shape.lanes + warp_sums.first(threadIdx.x) + v
                parts[threadIdx.x // WARP, column] = own[v]
        syncthreads()
        done = None if last else shared_tensor(own.dtype, shape.width)
        if shape.blocks > 1:
            received = shared_tensor(exchange_type(own.dtype), (shape.blocks, shape.width))
            if position == 0:
                cluster_wait()  # the shared memory of all blocks is there
            if self.is_column:
                self.send(position, parts, received, 1 if last else shape.blocks)
                if not last or blockIdx.x % shape.blocks == 0:
                    mbarrier_wait(self.bar(position), 0)
                    self.finish(position, received, done)
        elif self.is_column:
            self.finish(position, parts, done)
        if not last:
            syncthreads()
            self.know(position, done)

    def warp_sums(self, position: int) -> LaneSums:
        """How lanes of a warp that share columns combine their partial results."""
        shape, how = self.shape, self.reduces[position].how
        distances = tuple(lane for lane in LANES if lane >= shape.across)
        return LaneSums(shape.lanes, distances, partial(joined, how))

    def holds(self, warp_sums: LaneSums) -> Expr:
        """Whether a lane has results of its warp."""
        return self.shape.across * self.shape.lanes // warp_sums.held > THREAD % WARP

    def ends(self, position: int) -> bool:
        """Whether a reduction is the last of all, whose results no other thread needs."""
        return position == self.count - 1 and not self.shape.inner_vars

    @part
    def send(self, position: int, parts: Shared, received: Shared, listeners: int) -> None:
        """Send this block's partial result of a column to the shared memory of the first blocks."""
        total = self.total(position, "_part")
        add_up(total, parts)
        for other in unroll(listeners):
            there = address(received, blockIdx.x % self.shape.blocks, threadIdx.x)
            store_to_block(there, convert(total.value, received.dtype), self.bar(position), other)

    @part
    def finish(self, position: int, parts: Shared, done: Any) -> None:
        """Combine the partial results of this thread's column, for all or to write its elements."""
        total = self.total(position, "")
        add_up(total, parts)
        if done is None:
            self.write_column(position, total)
        else:
            done[threadIdx.x] = total.value

    def total(self, position: int, name: str) -> Accumulator:
        """A reduction of this thread's column."""
        return Accumulator(self.reduces[position], f"{name}{position}")

    def write_column(self, position: int, total: Accumulator) -> None:
        """Write the element of the one column that this thread has found the last result of."""
        chunk, lane = self.first + THREAD // self.shape.lanes, THREAD % self.shape.lanes
        known: dict[Expr, Expr] = {
            each: Load(resident, (THREAD,)) for each, resident in self.known.items()
        }
        known[self.reduces[position]] = total.value
        written = put(self.stage, self.here(chunk, lane), known)
        write(guarded(chunk, self.chunks, self.shape.across, written))

    @part
    def elements(self) -> None:
        """Write the elements of the columns, distributed over the threads like the rows."""
        if self.inside:
            self.rows(self.inner).each(self.put)

    def put(self, place: Place, slot: Expr, resident: Resident | None) -> None:
        """Write the elements of a row and a lane."""
        *row, lane = place
        where = dict(zip(self.shape.inner_vars, row, strict=True))
        write(put(self.stage, self.here(self.chunk, lane) | where, self.results(lane)))
