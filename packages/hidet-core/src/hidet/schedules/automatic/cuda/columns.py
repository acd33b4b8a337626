"""Reductions along an axis that is not the innermost one, on CUDA.

Neighbouring threads take neighbouring columns, 16 bytes of them each; `deep` threads share a column
and meet in their warps, then in shared memory, in a fixed order. Where that makes too few blocks,
they are narrower and have more threads, and those of a cluster share columns too: what they tell
arrives at mbarriers, since the barrier of a cluster would wait for every thread of theirs. Every
reduction is computed once; then the elements of the columns are written.
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
from hidet.schedules.automatic.cuda.grid import BLOCK, THREAD, guarded, write
from hidet.schedules.automatic.cuda.kept import Kept
from hidet.schedules.automatic.cuda.meeting import spoken
from hidet.schedules.automatic.cuda.merge import add_up
from hidet.schedules.automatic.cuda.spread import Place, Spread, whole_turns
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
        attr.cuda_min_blocks = shape.resident
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
        """Where a block is told of columns, by all blocks of its cluster, for each reduction."""
        write([Declare(self.bars)])
        if threadIdx.x == 0:
            for position in static(range(self.count)):
                mbarrier_init(self.bar(position), 1)
                mbarrier_arrive_expect_tx(self.bar(position), self.told_bytes(position))
            fence_mbarrier_init()
        cluster_arrive(relaxed=True)

    def bar(self, position: int) -> Expr:
        """Where a block is told of a reduction."""
        return address(self.bars, position)

    def told_bytes(self, position: int) -> int:
        """What it is told."""
        return self.shape.blocks * self.shape.width * spoken(self.dtype(position)).nbytes

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
        return {each: Load(kept, (first + lane,)) for each, kept in self.known.items()}

    @property
    def inside(self) -> Expr | bool:
        """Whether this thread's columns are some."""
        return whole_turns(self.chunks, self.shape.across) or self.chunk < self.chunks

    @property
    def is_column(self) -> Expr | bool:
        """Whether this thread has a column of the block to itself."""
        return self.shape.width % self.shape.threads == 0 or self.shape.width > THREAD

    def rows(self, extents: Sequence[Size]) -> Spread:
        """This thread's rows, a few of them in flight, and its lanes."""
        shape = self.shape
        whole = (*extents, shape.lanes)
        return Spread(
            whole, self.down, shape.together, shape.lanes, IN_FLIGHT, None, shape.threads,
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
        """A thread begins to reduce its columns."""
        of = TensorType(self.dtype(position), (self.shape.lanes,), Scope.REGISTER)
        own = Var(f"partial{position}", of)
        write([Declare(own, self.reduces[position].identity)])
        return own

    def know(self, position: int, where: Any) -> None:
        """The results of a reduction are there."""
        self.known[self.reduces[position]] = where

    def take(self, position: int, own: Var, place: Place, slot: Expr, kept: Kept | None) -> None:
        """A thread lets in the element of a row and a lane."""
        *row, lane = place
        reduce = self.reduces[position]
        here = self.here(self.chunk, lane) | dict(zip(reduce.vars, row, strict=True))
        value = substitute(replaced(reduce.value, self.results(lane)), here)
        before, result = with_serial_reductions(value, {})
        update = joined(reduce.how, Load(own, (lane,)), result)
        write((*before, Store(own, (lane,), update)))

    @part
    def meet(self, position: int, own: Registers) -> None:
        """Combine what the threads of each column have: in a warp, then in the order of warps; then
        what the blocks of a cluster have, who tell each other."""
        shape, halves, last = self.shape, self.halves(position), self.ends(position)
        parts = shared_tensor(own.dtype, (shape.threads // WARP, shape.width))
        halves.add(own)
        if shape.across * shape.lanes // halves.held == WARP or self.holds(halves):
            for v in vectorize(halves.held):
                column = self.across * shape.lanes + halves.first(threadIdx.x) + v
                parts[threadIdx.x // WARP, column] = own[v]
        syncthreads()
        done = None if last else shared_tensor(own.dtype, shape.width)
        if shape.blocks > 1:
            told = shared_tensor(spoken(own.dtype), (shape.blocks, shape.width))
            if position == 0:
                cluster_wait()  # all blocks are there to be told
            if self.is_column:
                self.tell(position, parts, told, 1 if last else shape.blocks)
                if not last or blockIdx.x % shape.blocks == 0:
                    mbarrier_wait(self.bar(position), 0)
                    self.finish(position, told, done)
        elif self.is_column:
            self.finish(position, parts, done)
        if not last:
            syncthreads()
            self.know(position, done)

    def halves(self, position: int) -> LaneSums:
        """How lanes of a warp that share columns put together what they have."""
        shape, how = self.shape, self.reduces[position].how
        distances = tuple(lane for lane in LANES if lane >= shape.across)
        return LaneSums(shape.lanes, distances, partial(joined, how))

    def holds(self, halves: LaneSums) -> Expr:
        """Whether a lane has results of its warp."""
        return self.shape.across * self.shape.lanes // halves.held > THREAD % WARP

    def ends(self, position: int) -> bool:
        """Whether a reduction is the last of all, whose results nobody needs but who finds them."""
        return position == self.count - 1 and not self.shape.inner_vars

    @part
    def tell(self, position: int, parts: Shared, told: Shared, listeners: int) -> None:
        """Write this block's part of a column into the shared memory of the first blocks."""
        total = self.total(position, "_part")
        add_up(total, parts)
        for other in unroll(listeners):
            there = address(told, blockIdx.x % self.shape.blocks, threadIdx.x)
            store_to_block(there, convert(total.value, told.dtype), self.bar(position), other)

    @part
    def finish(self, position: int, parts: Shared, done: Any) -> None:
        """Put the parts of this thread's column together, for all or to write its elements."""
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
        known: dict[Expr, Expr] = {each: Load(kept, (THREAD,)) for each, kept in self.known.items()}
        known[self.reduces[position]] = total.value
        written = put(self.stage, self.here(chunk, lane), known)
        write(guarded(chunk, self.chunks, self.shape.across, written))

    @part
    def elements(self) -> None:
        """Write the elements of the columns, if that is still to be done: each row of them by other
        threads."""
        if self.inside:
            self.rows(self.inner).each(self.put)

    def put(self, place: Place, slot: Expr, kept: Kept | None) -> None:
        """Write the elements of a row and a lane."""
        *row, lane = place
        where = dict(zip(self.shape.inner_vars, row, strict=True))
        write(put(self.stage, self.here(self.chunk, lane) | where, self.results(lane)))
