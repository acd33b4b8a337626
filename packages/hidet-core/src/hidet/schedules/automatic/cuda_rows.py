"""Definitions with reductions on CUDA.

The threads are split into groups of `width` that share a row: a whole block, a warp, or a single
thread. A row is an index of the output axes that the reductions depend on; the group first computes
the row's reductions together, each once, then writes the row's elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from hidet.ir.expr import Const, Expr, Load, Value, Var, constant, convert, wrap
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Assign, Body, Declare, For, If, Invoke, LoopKind, Put, Stmt, Store
from hidet.ir.walk import substitute
from hidet.schedules.automatic.access import constant_size, contiguous, mostly_contiguous, reads
from hidet.schedules.automatic.cuda_kept import Kept
from hidet.schedules.automatic.emit import (
    Accumulator,
    AnyReduce,
    ceil_div,
    flat,
    free,
    product,
    put,
    replaced,
    unflatten,
    unrolled,
    with_serial_reductions,
)
from hidet.schedules.automatic.grid import ACCESS_BYTES, BLOCK, THREAD, WARP, guarded, kernel
from hidet.schedules.automatic.plan import MapStage
from hidet.target import Target
from hidet.types import Scope, Size, TensorType, i32, u32


@dataclass(frozen=True)
class Shape:
    """How a stage's work is spread: `width` threads share a row, `rows` rows share a block."""

    row_vars: tuple[Var, ...]
    inner_vars: tuple[Var, ...]
    width: int
    rows: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.width * self.rows


ELEMENTS = 32
"""Elements of a long row that a thread takes, if it walks over the row several times."""


def choose_shape(stage: MapStage, reduces: list[AnyReduce]) -> Shape:
    """How many threads share a row."""
    needed = set().union(*(free(each) for each in reduces))
    real = [v for v, n in zip(stage.vars, stage.shape, strict=True) if n != 1]
    row_vars = tuple(var for var in stage.vars if var in needed or var not in real)
    inner_vars = tuple(var for var in stage.vars if var not in row_vars)
    sizes = dict(zip(stage.vars, stage.shape, strict=True))
    rows = known_product([sizes[var] for var in row_vars])
    deep = max(known_product(each.extents) for each in reduces)
    along = any(mostly_contiguous(each.value, each.vars[-1]) for each in reduces)
    inner = known_product([sizes[var] for var in inner_vars])
    if not inner_vars and rows >= 4096 and (deep < 16 or not along):
        return Shape(row_vars, inner_vars, 1, 128)
    if (max(deep, inner) <= 1024 and rows >= 1024) or deep <= 64:
        return Shape(row_vars, inner_vars, WARP, 4)
    longest = max(deep, inner)
    if len(reduces) + bool(inner_vars) > 1:
        width = min(1024, max(256, 1 << (longest // ELEMENTS - 1).bit_length()))
    else:
        width = 1024 if longest >= 16384 and rows < 512 else 256
    return Shape(row_vars, inner_vars, width, 1)


def known_product(sizes: tuple[Size, ...] | list[Size]) -> int:
    """The product of sizes, those unknown until run time taken as 256."""
    return prod(n if (n := constant_size(size)) is not None else 256 for size in sizes)


def rows_kernel(
    stage: MapStage,
    name: str,
    params: tuple[Var, ...],
    shape: Shape,
    reduces: list[AnyReduce],
    target: Target,
) -> Kernel:
    """Groups of threads each compute the reductions of a row, then write its elements."""
    return Rows(stage, shape, reduces, target.max_shared_bytes_per_block).kernel(name, params)


WRITTEN_OUT = 4
"""Turns that are written out, so that the loads of all of them are in flight together."""
MOST_WRITTEN_OUT = 8
"""The same where all that is read stays in registers."""
LARGE = 512
"""Threads of a row beyond which each has few registers."""
EVERY_LANE = Const(0xFFFFFFFF, u32)
Element = Callable[[tuple[Expr, ...], Expr, Kept | None], Body]


class Rows:
    """One kernel in the making: walks over a row, one for each reduction and one to write."""

    def __init__(
        self, stage: MapStage, shape: Shape, reduces: list[AnyReduce], shared_bytes: int
    ) -> None:
        self.stage, self.shape, self.reduces = stage, shape, reduces
        self.sizes = dict(zip(stage.vars, stage.shape, strict=True))
        self.row: Expr = BLOCK
        self.lane: Expr = THREAD
        if shape.rows > 1:
            self.row = BLOCK * shape.rows + THREAD // shape.width
            self.lane = THREAD % shape.width
        row_sizes = [self.sizes[var] for var in shape.row_vars]
        self.rows = product(row_sizes)
        self.index = dict(zip(shape.row_vars, unflatten(self.row, row_sizes), strict=True))
        self.totals = [Accumulator(each, str(number)) for number, each in enumerate(reduces)]
        pairs = zip(reduces, self.totals, strict=True)
        self.known: dict[Expr, Expr] = {each: total.result for each, total in pairs}
        self.inner = tuple(self.sizes[var] for var in shape.inner_vars)
        self.walks = [Walk(each.vars, each.extents, each.value) for each in reduces]
        if self.inner:
            values = [stage.value, *(value for _, value in stage.also)]
            self.walks += [Walk(shape.inner_vars, self.inner, value) for value in values]
        self.lanes = [self.walk_lanes(number) for number in range(len(self.walks))]
        self.place = tuple(Var("k", i32) for _ in self.walks[0].vars)
        self.kept_turns = 0
        self.left: Kept | None = None
        """What is kept of the rest of a long row."""
        self.kept = self.keep(shared_bytes)

    def walk_lanes(self, number: int) -> int:
        """How many neighbouring elements a thread takes at once in a walk."""
        walk = self.walks[number]
        if self.shape.width == 1:
            return 1
        if number >= len(self.reduces):
            nbytes = self.stage.out.dtype.nbytes
            return group_lanes(walk.extents, nbytes, walk.vars[-1] is self.stage.vars[-1])
        found = [read.tensor.dtype.nbytes for read in reads(walk.value)]
        along = contiguous(walk.value, walk.vars[-1])
        return group_lanes(walk.extents, max(found, default=ACCESS_BYTES), along)

    def keep(self, shared_bytes: int) -> Kept | None:
        """What is kept from one walk to the next, if all go the same way: of rows that are too long
        for registers the beginning there, the rest in shared memory if it fits."""
        extents = self.walks[0].extents
        count = known_product(extents) if all(map(is_number, extents)) else None
        alike = all(walk.extents == extents for walk in self.walks)
        if count is None or not alike or len(self.walks) == 1 or self.shape.width == 1:
            return None
        lanes = max(self.lanes)
        turns = -(-count // lanes // self.shape.width)
        most = WRITTEN_OUT if self.shape.width > LARGE else MOST_WRITTEN_OUT
        self.kept_turns = min(turns, most)
        values = [
            substitute(
                replaced(walk.value, self.known), dict(zip(walk.vars, self.place, strict=True))
            )
            for walk in self.walks
        ]
        kept = Kept(values, self.place, self.kept_turns * lanes, budget(self.shape.width))
        if not kept.arrays or (turns > WRITTEN_OUT and 0 not in kept.since.values()):
            return None
        self.lanes = [lanes] * len(self.walks)
        if self.kept_turns < turns:
            slots = (turns - self.kept_turns) * self.shape.threads * lanes
            nbytes = (shared_bytes - RESERVED) * self.shape.threads // 1024
            self.left = Kept(values, self.place, slots, nbytes, Scope.SHARED)
        return kept

    def kernel(self, name: str, params: tuple[Var, ...]) -> Kernel:
        """The whole kernel."""
        body: list[Stmt] = [
            each for kept in (self.kept, self.left) if kept for each in kept.declared()
        ]
        for number in range(len(self.reduces)):
            body += self.reduction(number)
        body += self.elements()
        guarded_body = guarded(self.row, self.rows, self.shape.rows, tuple(body))
        blocks = ceil_div(self.rows, self.shape.rows)
        return kernel(name, params, guarded_body, blocks, self.shape.threads)

    def reduction(self, number: int) -> Body:
        """One reduction by a group of threads; afterwards every one of them knows the result."""
        total, width = self.totals[number], self.shape.width

        def element(place: tuple[Expr, ...], slot: Expr, kept: Kept | None) -> Body:
            steps, value = self.at(number, place, slot, kept)
            before, result = with_serial_reductions(value, {})
            where = flat(place, self.walks[number].extents)
            return steps + before + total.take(result, where)

        body = total.start() + self.walk(number, element)
        if width > 1:
            body += across_warp(total)
        if width > WARP:
            body += across_block(total, width // WARP, number)
        return body

    def elements(self) -> Body:
        """The row's elements, spread over its threads."""
        if not self.inner:
            body = put(self.stage, self.index, self.known)
            return body if self.shape.width == 1 else (If(self.lane.eq(0), body),)

        def element(place: tuple[Expr, ...], slot: Expr, kept: Kept | None) -> Body:
            where = self.index | dict(zip(self.shape.inner_vars, place, strict=True))
            if kept is None:
                return put(self.stage, where, self.known)
            index = tuple(where[var] for var in self.stage.vars)
            body: Body = ()
            outs = (self.stage.out, *(out for out, _ in self.stage.also))
            for number, out in enumerate(outs, len(self.reduces)):
                steps, value = self.at(number, place, slot, kept)
                body += (*steps, Put(out, index, convert(value, out.dtype)))
            return body

        return self.walk(len(self.reduces), element)

    def at(
        self, number: int, place: tuple[Expr, ...], slot: Expr, kept: Kept | None
    ) -> tuple[Body, Expr]:
        """The value of an element of a walk, after statements that fill what is kept of it."""
        walk = self.walks[number]
        if kept is None:
            value = replaced(walk.value, self.known)
            return (), substitute(value, self.index | dict(zip(walk.vars, place, strict=True)))
        here = self.index | dict(zip(self.place, place, strict=True))
        steps = tuple(substitute(each, here) for each in kept.stores(number, slot))
        return steps, substitute(kept.value(number, slot), here)

    def walk(self, number: int, element: Element) -> Body:
        """`element` at every place of a walk, spread over the threads of a row."""
        extents, lanes, width = self.walks[number].extents, self.lanes[number], self.shape.width
        most = WRITTEN_OUT if self.kept is None else MOST_WRITTEN_OUT
        every = Spread(extents, self.lane, width, lanes, most, self.kept, self.shape.threads)
        if self.kept is None or ceil_div(product(extents), width * lanes) == self.kept_turns:
            return every.body(element)
        rest = replace(every, kept=self.left, most=WRITTEN_OUT, start=self.kept_turns)
        return replace(every, stop=self.kept_turns).body(element) + rest.body(element)


@dataclass(frozen=True)
class Walk:
    """All places of a row, and a value at each."""

    vars: tuple[Var, ...]
    extents: tuple[Size, ...]
    value: Expr


RESERVED = 4096
"""Bytes of shared memory that the rest of a kernel may need."""


def budget(width: int) -> int:
    """Bytes of registers that a thread may keep: half of what a full block leaves it."""
    return 128 if width > LARGE else 256


def is_number(size: Size) -> bool:
    """Whether a size is known."""
    return constant_size(size) is not None


def group_lanes(extents: tuple[Size, ...], nbytes: int, neighbours: bool) -> int:
    """How many neighbouring elements a thread takes at once."""
    last = constant_size(extents[-1])
    lanes = ACCESS_BYTES // max(nbytes, 2) if neighbours and last is not None else 1
    while lanes > 1 and (last is None or last % lanes):
        lanes //= 2
    return max(lanes, 1)


@dataclass(frozen=True)
class Spread:
    """Every index below `extents`, `lanes` neighbours at once, over `width` threads in turns.

    Up to `most` turns are written out, of more a few; turns before `start` and from `stop` on are
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

    def body(self, element: Element) -> Body:
        """`element(index, slot, kept)` for all of them; `slot` is the element's place in `kept`."""
        lanes, width = self.lanes, self.width
        chunked = (*self.extents[:-1], self.extents[-1] // lanes) if lanes > 1 else self.extents
        chunks = product(chunked) if self.stop is None else self.stop * width
        turns = ceil_div(chunks, width) - self.start
        all_out = turns if isinstance(turns, int) and turns <= self.most else None
        together = WRITTEN_OUT if all_out is None else all_out
        outer, turn, part = Var("turn", i32), Var("part", i32), Var("v", i32)
        step = turn if all_out is not None else outer * together + turn
        number = step + self.start
        shared = self.kept is not None and self.kept.scope is Scope.SHARED
        slot = step * self.threads + THREAD if shared else step
        chunk = number * width + self.lane if width > 1 else number
        place = unflatten(chunk, chunked)
        if lanes > 1:
            whole = (*place[:-1], place[-1] * lanes + part)
            inner = element(whole, slot * lanes + part, self.kept)
            body: Body = (For(part, constant(lanes, i32), inner, LoopKind.VECTOR),)
        else:
            body = element(place, slot, self.kept)
        left = chunks - self.start * width
        body = body if whole_turns(left, width * together) else (If(chunk < chunks, body),)
        body = (For(turn, wrap(together), body, LoopKind.UNROLL),)
        if all_out is not None:
            return body
        return (For(outer, wrap(ceil_div(turns, together)), body),)


def whole_turns(count: Value, each: int) -> bool:
    """Whether `count` is known to be a multiple of `each`."""
    return isinstance(count, int) and (count == 0 or (each > 0 and count % each == 0))


def across_warp(accumulator: Accumulator) -> Body:
    """Merge the accumulators of a warp's lanes."""
    body: list[Stmt] = []
    for distance in (16, 8, 4, 2, 1):
        others = []
        for var in accumulator.variables:
            wide = i32 if var.dtype.bits < 16 else var.dtype  # shuffles move 16 bits or more
            other = Var(f"{var.name}_far", wide)
            body.append(Declare(other, constant(0, wide)))
            operands = EVERY_LANE, convert(var, wide), constant(distance, i32)
            body.append(Invoke("shfl_xor_sync", operands, (other,)))
            others.append(convert(other, var.dtype))
        body += accumulator.merge(others)
    return tuple(body)


def across_block(accumulator: Accumulator, warps: int, position: int) -> Body:
    """Merge the accumulators of a block's warps through shared memory; all threads read them."""
    kept = [
        Var(f"shared{position}_{var.name}", TensorType(var.dtype, (warps,), Scope.SHARED))
        for var in accumulator.variables
    ]
    warp = THREAD // WARP
    write = tuple(
        Store(shared, (warp,), var) for shared, var in zip(kept, accumulator.variables, strict=True)
    )
    turn = Var("w", i32)
    merge = accumulator.merge([Load(shared, (turn,)) for shared in kept])
    restart = tuple(
        Assign(declared.var, declared.init)
        for declared in accumulator.start()
        if isinstance(declared, Declare) and declared.init is not None
    )
    return (
        *(Declare(shared) for shared in kept),
        If((THREAD % WARP).eq(0), write),
        Invoke("syncthreads"),
        *restart,
        *unrolled(turn, warps, merge),
    )
