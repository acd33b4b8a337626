"""Reductions along an axis that is not the innermost one, on CUDA.

Neighbouring threads take neighbouring columns, 16 bytes of them each; `deep` threads share a column
and meet in their warps, then in shared memory, in a fixed order. Where that makes too few blocks,
they are narrower and have more threads, and those of a cluster share columns too: what they tell
arrives at mbarriers, since the barrier of a cluster would wait for every thread of theirs. Every
reduction is computed once; then the elements of the columns are written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from hidet.compute import Reduce
from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Address, Expr, Load, Var, constant, wrap
from hidet.ir.kernel import Kernel, LetsNext
from hidet.ir.stmt import Body, Declare, For, If, Invoke, LoopKind, Stmt, Store
from hidet.ir.walk import replaced, substitute
from hidet.schedules.automatic.access import (
    known_product,
    mostly_contiguous,
    read_once,
    reads,
    whole_lanes,
)
from hidet.schedules.automatic.cuda.column_parts import in_warp, store, tell_blocks, total_of
from hidet.schedules.automatic.cuda.grid import BLOCK, THREAD, guarded, kernel
from hidet.schedules.automatic.cuda.meeting import spoken
from hidet.schedules.automatic.emit import (
    AnyReduce,
    ceil_div,
    free,
    joined,
    put,
    with_serial_reductions,
)
from hidet.schedules.automatic.plan import MapStage
from hidet.target import ACCESS_BYTES, PAIR, WARP, Target
from hidet.types import Scope, Size, TensorType, i32, u64

THREADS = 256
ACROSS = 16
"""Threads side by side: 256 bytes of a row at once."""
LARGE = 512
"""Threads of a block that has a multiprocessor to itself or shares it with one other."""
NARROW = 8
"""Threads side by side where columns are few: 128 bytes, a line of the caches."""
SHALLOW = 16
"""Elements below which one thread takes a whole column."""
TOGETHER = 1024
"""Threads of a multiprocessor at a time."""
FEW = 4
"""Rows of a thread below which more threads would wait for each other longer than they read."""
IN_FLIGHT = 8
"""Rows that a thread reads before it adds the first."""


@dataclass(frozen=True)
class Columns:
    """How a stage's work is spread: a block is `across` times `deep` threads; `blocks` of them, a
    cluster, share columns."""

    outer_vars: tuple[Var, ...]
    column_vars: tuple[Var, ...]
    inner_vars: tuple[Var, ...]
    lanes: int
    across: int
    deep: int
    blocks: int = 1
    lets_next: LetsNext = LetsNext.READ

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.across * self.deep

    @property
    def resident(self) -> int:
        """Blocks that a multiprocessor is to hold at a time."""
        return TOGETHER // max(self.threads, THREADS)

    @property
    def together(self) -> int:
        """Threads that share a column."""
        return self.deep * self.blocks

    @property
    def width(self) -> int:
        """Columns of a block."""
        return self.across * self.lanes


def choose_columns(stage: MapStage, reduces: list[AnyReduce], target: Target) -> Columns | None:
    """The shape, if neighbouring outputs read neighbouring elements and a column's are apart."""
    real = [var for var, size in zip(stage.vars, stage.shape, strict=True) if size != 1]
    if not real or 0 in stage.shape or not all(walks_down(each, real[-1]) for each in reduces):
        return None
    needed = set().union(*(free(each) for each in reduces))
    inner = tuple(var for var in real if var not in needed)
    start = max((real.index(var) + 1 for var in inner), default=len(real) - 1)
    sizes = dict(zip(stage.vars, stage.shape, strict=True))
    deepest = max(known_product(each.extents) for each in reduces)
    shallow = deepest < SHALLOW and not inner
    start = 0 if shallow else start
    columns, outer = real[start:], [var for var in real[:start] if var not in inner]
    lanes = column_lanes(reduces, sizes[columns[-1]])
    chunks = known_product([sizes[var] for var in columns]) // lanes
    across = min(power(chunks), THREADS if shallow else ACROSS)
    deep = 1 if shallow else THREADS // across
    alone = Columns(tuple(outer), tuple(columns), inner, lanes, across, deep)
    around = known_product([sizes[var] for var in outer])
    return alone if shallow else spread(alone, chunks, around, deepest, target)


def spread(alone: Columns, chunks: int, around: int, deepest: int, target: Target) -> Columns:
    """The same over more multiprocessors, if there are few columns: narrower blocks, of as many
    threads as find rows to read, and then as many in a cluster.

    Clusters are no larger than they must be: a few multiprocessors have no place for large ones
    (eight of an H200 for those of four blocks), and some of the others get one block too many.
    Where a multiprocessor has a place for a block of the next kernel beside its own, that may begin
    from the start on: each finds as many places then.
    """
    if -(-chunks // alone.across) * around >= 2 * target.cores:
        return replace(alone, lets_next=LetsNext.END)
    across = min(alone.across, NARROW)
    tiles = -(-chunks // across) * around
    large = tiles <= 2 * target.cores and deepest * across >= FEW * LARGE
    threads = LARGE if large else THREADS
    rows = deepest * across // threads
    if rows < FEW:
        return alone
    blocks, most = 1, min(target.max_blocks_per_cluster, rows // FEW)
    while 2 * blocks <= most and not on_most(tiles * blocks, target):
        blocks *= 2
    if 2 < blocks <= target.max_blocks_per_cluster // 2:  # smaller ones lie more evenly
        blocks, threads = 2 * blocks, threads // 2
    beside = 2 * tiles * blocks <= target.cores * (TOGETHER // threads) and blocks <= PAIR
    lets_next = LetsNext.START if beside else LetsNext.END
    return replace(alone, across=across, deep=threads // across, blocks=blocks, lets_next=lets_next)


def on_most(blocks: int, target: Target) -> bool:
    """Whether most multiprocessors have one of so many blocks."""
    return 3 * blocks >= 2 * target.cores


def walks_down(reduce: AnyReduce, last: Var) -> bool:
    """Whether the next element is one step along `last`, and not one step of the reduction."""
    if not isinstance(reduce, Reduce) or last not in free(reduce):
        return False
    along = mostly_contiguous(reduce.value, reduce.vars[-1])
    return mostly_contiguous(reduce.value, last) and not along


def column_lanes(reduces: list[AnyReduce], last: Size) -> int:
    """How many neighbouring columns one thread takes: 16 bytes, if the innermost axis allows."""
    found = [read.tensor.dtype.nbytes for each in reduces for read in reads(each.value)]
    return whole_lanes(ACCESS_BYTES // max(2, *found, 2), last)


def power(count: int) -> int:
    """The least power of two that is not less."""
    return 1 << max(0, count - 1).bit_length()


def columns_kernel(
    stage: MapStage, name: str, params: tuple[Var, ...], shape: Columns, reduces: list[AnyReduce]
) -> Kernel:
    """Blocks that each compute the reductions of some columns, then write their elements."""
    return Writer(stage, shape, len(reduces)).kernel(name, params, reduces)


class Writer:
    """One kernel in the making."""

    def __init__(self, stage: MapStage, shape: Columns, count: int) -> None:
        self.stage, self.shape, self.count = stage, shape, count
        self.sizes = dict(zip(stage.vars, stage.shape, strict=True))
        self.across = THREAD % shape.across if shape.deep > 1 else THREAD
        self.down: Expr = THREAD // shape.across if shape.deep > 1 else constant(0, i32)
        self.bars = Var("bars", TensorType(u64, (count,), Scope.SHARED))
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

    def kernel(self, name: str, params: tuple[Var, ...], reduces: list[AnyReduce]) -> Kernel:
        """The whole kernel."""
        body: list[Stmt] = []
        if self.shape.blocks > 1:
            body += self.prepared(reduces)
        for position, reduce in enumerate(reduces):
            assert isinstance(reduce, Reduce)
            body += self.reduction(reduce, position)
        body += self.elements()
        shape = self.shape
        made = kernel(name, params, tuple(body), self.blocks, shape.threads, shape.resident)
        launch = replace(made.launch, cluster=(shape.blocks, 1, 1), lets_next=shape.lets_next)
        return replace(made, launch=launch, once=self.once(reduces))

    def prepared(self, reduces: Sequence[AnyReduce]) -> Body:
        """Where a block is told of columns, by all blocks of its cluster, for each reduction."""
        begin: list[Stmt] = []
        for position, reduce in enumerate(reduces):
            nbytes = self.shape.blocks * self.shape.width * spoken(reduce.value.dtype).nbytes
            bar = Address(self.bars, (constant(position, i32),))
            begin.append(Invoke("mbarrier_init", (bar, constant(1, i32))))
            begin.append(Invoke("mbarrier_arrive_expect_tx", (bar, constant(nbytes, i32))))
        begin.append(Invoke("fence_mbarrier_init"))
        here = Invoke("cluster_arrive", options=("relaxed",))
        return Declare(self.bars), If(THREAD.eq(0), tuple(begin)), here

    def once(self, reduces: Sequence[AnyReduce]) -> tuple[Var, ...]:
        """The tensors of which nothing is needed again, in a kernel that writes little."""
        if len(reduces) > 1 or self.shape.inner_vars:
            return ()
        (reduce,) = reduces
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

    def inside(self, body: Body) -> Body:
        """`body` where this thread's columns are some."""
        return guarded(self.chunk, self.chunks, self.shape.across, body)

    def vector(self, lane: Var, body: Body, count: int = 0) -> Body:
        """`body` for each of so many lanes, or all."""
        return (For(lane, constant(count or self.shape.lanes, i32), body, LoopKind.VECTOR),)

    def reduction(self, reduce: Reduce, position: int) -> Body:
        """One reduction of all columns; afterwards every thread can read the results, or elements
        that are one for each column are written."""
        of = TensorType(reduce.value.dtype, (self.shape.lanes,), Scope.REGISTER)
        own = Var(f"partial{position}", of)
        lane = Var("v", i32)

        def element(row: Expr) -> Body:
            place = dict(zip(reduce.vars, unravel(row, reduce.extents), strict=True))
            here = self.here(self.chunk, lane)
            value = substitute(replaced(reduce.value, self.results(lane)), here | place)
            before, result = with_serial_reductions(value, {})
            update = joined(reduce.how, Load(own, (lane,)), result)
            return self.vector(lane, (*before, Store(own, (lane,), update)))

        rows = self.each(product(reduce.extents), element)
        body = (Declare(own, reduce.identity), *self.inside(rows))
        if self.shape.deep == 1:
            self.known[reduce] = own
            return body
        return body + self.meet(reduce, own, position)

    def each(self, count: Size, element: Callable[[Expr], Body]) -> Body:
        """`element(row)` for this thread's rows, a few of them in flight."""
        turns = ceil_div(count, self.shape.together)
        if isinstance(turns, int) and turns == 0:
            return ()
        few = turns if isinstance(turns, int) and turns <= IN_FLIGHT else None
        together = IN_FLIGHT if few is None else few
        outer, turn = Var("turn", i32), Var("part", i32)
        number: Expr = turn if few is not None else outer * together + turn
        row = number * self.shape.together + self.down
        body = guarded(row, count, self.shape.together * together, element(row))
        body = (For(turn, constant(together, i32), body, LoopKind.UNROLL),)
        return body if few is not None else (For(outer, wrap(ceil_div(turns, together)), body),)

    def meet(self, reduce: Reduce, own: Var, position: int) -> Body:
        """Combine what the threads of each column have: in a warp, then in the order of warps."""
        shape, dtype = self.shape, reduce.value.dtype
        warps = shape.threads // WARP
        met = Var(f"met{position}", TensorType(dtype, (warps, shape.width), Scope.SHARED))
        lane = Var("v", i32)
        halve, first, count = in_warp(reduce, own, shape.across)
        mine = (THREAD // WARP, self.across * shape.lanes + first + lane)
        keep = self.vector(lane, (Store(met, mine, Load(own, (lane,))),), count)
        holders = shape.across * shape.lanes // count
        combine = self.by_blocks if shape.blocks > 1 else self.by_warps
        return (
            Declare(met),
            *halve,
            *guarded(THREAD % WARP, holders, WARP, keep),
            Invoke("syncthreads"),
            *combine(reduce, met, position),
        )

    def by_warps(self, reduce: Reduce, met: Var, position: int) -> Body:
        """What the warps of a block found, put together."""
        before, use, after = self.using(reduce, position)
        return (*before, *self.one_each(total_of(reduce, met, use)), *after)

    def by_blocks(self, reduce: Reduce, met: Var, position: int) -> Body:
        """The same for columns that the blocks of a cluster share: each tells its part to those
        who go on, into whose shared memory it writes."""
        shape, last = self.shape, self.ends(position)
        told_type = TensorType(spoken(met.dtype), (shape.blocks, shape.width), Scope.SHARED)
        told, rank = Var(f"told{position}", told_type), BLOCK % shape.blocks
        bar = Address(self.bars, (constant(position, i32),))
        count = 1 if last else shape.blocks
        tell = total_of(reduce, met, lambda total: tell_blocks(told, rank, total, bar, count))
        before, use, after = self.using(reduce, position)
        wait = Invoke("mbarrier_wait", (bar, constant(0, i32)), options=("parity",))
        finish = (wait, *total_of(reduce, told, use))
        begun = () if position else (Invoke("cluster_wait"),)  # all blocks are there to be told
        return (
            *before,
            Declare(told),
            *begun,
            *self.one_each(tell),
            *self.one_each((If(rank.eq(0), finish),) if last else finish),
            *after,
        )

    def ends(self, position: int) -> bool:
        """Whether a reduction is the last of all, whose results nobody needs but who finds them."""
        return position == self.count - 1 and not self.shape.inner_vars

    def using(self, reduce: Reduce, position: int) -> tuple[Body, Callable[[Var], Body], Body]:
        """What becomes of a column's result: the statements before, those of the thread that has
        it, and those after."""
        if self.ends(position):
            return (), partial(self.element, reduce), ()
        of = TensorType(reduce.value.dtype, (self.shape.width,), Scope.SHARED)
        done = self.known[reduce] = Var(f"done{position}", of)
        return (Declare(done),), partial(store, done), (Invoke("syncthreads"),)

    def element(self, reduce: Reduce, total: Var) -> Body:
        """Write the element of the one column that this thread has found the last result of."""
        chunk, lane = self.first + THREAD // self.shape.lanes, THREAD % self.shape.lanes
        known: dict[Expr, Expr] = {each: Load(kept, (THREAD,)) for each, kept in self.known.items()}
        written = put(self.stage, self.here(chunk, lane), known | {reduce: total})
        return guarded(chunk, self.chunks, self.shape.across, written)

    def one_each(self, body: Body) -> Body:
        """`body` for each column of the block, by one thread."""
        return guarded(THREAD, self.shape.width, self.shape.threads, body)

    def elements(self) -> Body:
        """Write the elements of the columns, if that is still to be done: each row of them by other
        threads."""
        inner = [self.sizes[var] for var in self.shape.inner_vars]
        lane = Var("v", i32)

        def element(row: Expr) -> Body:
            place = dict(zip(self.shape.inner_vars, unravel(row, inner), strict=True))
            here = self.here(self.chunk, lane)
            written = put(self.stage, here | place, self.results(lane))
            return self.vector(lane, written)

        if inner:
            return self.inside(self.each(product(inner), element))
        return self.inside(element(constant(0, i32))) if self.shape.deep == 1 else ()
