"""Definitions with reductions on CUDA: the plan of their kernel, which `row_template.py` writes.

The threads are split into groups of `width` that share a row: a whole block, a warp, or a single
thread. A row is an index of the output axes that the reductions depend on; the group first computes
the row's reductions together, each once, then writes the row's elements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from hidet.compute.places import ravel, unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Expr, Get, Value, Var, convert
from hidet.ir.stmt import Put
from hidet.ir.walk import replaced, substitute, variables
from hidet.lang import Int, part, static
from hidet.schedules.automatic.access import (
    constant_size,
    contiguous,
    known_product,
    read_once,
    reads,
    stride,
)
from hidet.schedules.automatic.cuda.grid import BLOCK, THREAD, write
from hidet.schedules.automatic.cuda.kept import Kept
from hidet.schedules.automatic.cuda.meeting import Crowd, Meeting, meetings
from hidet.schedules.automatic.cuda.merge import Own
from hidet.schedules.automatic.cuda.row_shape import Shape, group_lanes
from hidet.schedules.automatic.cuda.spread import WRITTEN_OUT, Element, Place, Spread, whole_turns
from hidet.schedules.automatic.emit import (
    Accumulator,
    AnyReduce,
    ceil_div,
    put,
    with_serial_reductions,
)
from hidet.schedules.automatic.plan import MapStage
from hidet.target import ACCESS_BYTES, Target
from hidet.types import Scope, Size, i32

MOST_WRITTEN_OUT = 8
"""The same where all that is read stays in registers."""
LARGE = 512
"""Threads of a row beyond which each has few registers."""


@dataclass(frozen=True)
class Row:
    """A row that a block works on: how many it has had before, and its place in the results."""

    again: Value
    index: dict[Var, Expr]


class Rows:
    """Walks over a row, one for each reduction and one to write, of what stays in registers."""

    def __init__(
        self, stage: MapStage, shape: Shape, reduces: list[AnyReduce], shared_bytes: int
    ) -> None:
        self.stage, self.shape, self.reduces = stage, shape, reduces
        self.sizes = dict(zip(stage.vars, stage.shape, strict=True))
        self.first: Expr = BLOCK
        self.lane: Expr = THREAD
        if shape.blocks > 1:
            self.first = BLOCK // shape.blocks
            self.lane = BLOCK % shape.blocks * shape.threads + THREAD
        elif shape.rows > 1:
            self.first = BLOCK * shape.rows + THREAD // shape.width
            self.lane = THREAD % shape.width
        self.rows = product([self.sizes[var] for var in shape.row_vars])
        self.groups: Size = shape.at_once or ceil_div(self.rows, shape.rows)
        """Blocks, or clusters of them."""
        self.taken: Int = ceil_div(self.rows, shape.at_once) if shape.at_once else 1
        """Rows that one of them takes one after the other."""
        self.all_there = whole_turns(self.rows, shape.at_once or shape.rows)
        """Whether there is a row whenever it takes one."""
        self.totals = [Accumulator(each, str(number)) for number, each in enumerate(reduces)]
        pairs = zip(reduces, self.totals, strict=True)
        self.known: dict[Expr, Expr] = {each: total.result for each, total in pairs}
        self.inner = tuple(self.sizes[var] for var in shape.inner_vars)
        self.walks = [Walk(each.vars, each.extents, each.value) for each in reduces]
        if self.inner:
            values = [stage.value, *(value for _, value in stage.also)]
            self.walks += [Walk(shape.inner_vars, self.inner, value) for value in values]
        self.lanes = [self.walk_lanes(number) for number in range(len(self.walks))]
        self.meetings = self.merged() if shape.blocks > 1 else self.one_by_one()
        self.place = tuple(Var("k", i32) for _ in self.walks[0].vars)
        self.resident = self.most_blocks = 0
        """Blocks that a multiprocessor should hold, at least and at most; 0: as many as fit."""
        self.kept_turns = 0
        self.left: Kept | None = None
        """What is kept of the rest of a long row."""
        self.kept = self.keep(shared_bytes)

    @property
    def outs(self) -> tuple[Var, ...]:
        """The results."""
        return (self.stage.out, *(out for out, _ in self.stage.also))

    @property
    def writes(self) -> Expr | bool:
        """Whether a thread writes what is one for each row."""
        return self.shape.width == 1 or self.lane.eq(0)

    def number(self, again: Value) -> Expr:
        """The number of a block's row."""
        return self.first + again * self.shape.at_once if self.shape.at_once else self.first

    def row(self, again: Value) -> Row:
        """A block's row."""
        names = self.shape.row_vars
        place = unravel(self.number(again), [self.sizes[var] for var in names])
        return Row(again, dict(zip(names, place, strict=True)))

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

    def one_by_one(self) -> list[Meeting | Own]:
        """The reductions, of which each becomes known before the next one begins."""
        shape = self.shape
        return [Own(n, each, shape.width, shape.threads) for n, each in enumerate(self.totals)]

    def merged(self) -> list[Meeting | Own]:
        """The reductions as parts, which become known in as few meetings as there can be."""
        shape, elements = self.shape, known_product(self.walks[0].extents)
        crowd = Crowd(self.lane, shape.width, shape.blocks, max(self.lanes), elements)
        found = meetings(self.totals, crowd)
        for number, own in ((n, own) for each in found for n, own in each.parts.items()):
            self.walks[number] = replace(self.walks[number], value=own.value)
        return [*found]

    def keep(self, shared_bytes: int) -> Kept | None:
        """What is kept from one walk to the next, if all go the same way: of rows that are too long
        for registers the beginning there, the rest in shared memory if it fits."""
        turns = self.turns()
        if turns is None:
            return None
        lanes = max(self.lanes)
        most = WRITTEN_OUT if self.shape.threads > LARGE else MOST_WRITTEN_OUT
        self.kept_turns = min(turns, most)
        values = self.values()
        kept = Kept(values, self.place, self.kept_turns * lanes, budget(self.shape.threads))
        if not kept.arrays or (turns > WRITTEN_OUT and 0 not in kept.since.values()):
            return None
        self.lanes = [lanes] * len(self.walks)
        if self.kept_turns < turns:
            slots = (turns - self.kept_turns) * self.shape.threads * lanes
            nbytes = (shared_bytes - RESERVED) * self.shape.threads // 1024
            self.left = Kept(values, self.place, slots, nbytes, Scope.SHARED)
        return kept

    def turns(self) -> int | None:
        """The turns that the threads take to walk over a row; None: not all walks go the same way,
        or there is one alone."""
        extents = self.walks[0].extents
        alike = all(walk.extents == extents for walk in self.walks) and all(map(is_number, extents))
        if not alike or len(self.walks) == 1 or self.shape.width == 1:
            return None
        return -(-known_product(extents) // max(self.lanes) // self.shape.width)

    def values(self) -> list[Expr]:
        """The values of all walks at one place."""
        return [
            substitute(
                replaced(walk.value, self.known), dict(zip(walk.vars, self.place, strict=True))
            )
            for walk in self.walks
        ]

    def choose_occupancy(self, target: Target) -> None:
        """Choose how many blocks a multiprocessor holds where it reads and writes long rows: so
        many that as much is under way as memory takes best. Registers are then left for operands
        of the last walk, which are read ahead of the threads' waits for each other."""
        one_each = self.shape.rows == self.shape.blocks == 1 and self.inner
        if not one_each or self.kept is None or self.left is not None:
            return
        row = known_product(self.walks[0].extents) * sum(e.dtype.nbytes for e in self.streamed(0))
        blocks = target.measured.bytes_in_flight // max(1, row)
        registers = target.registers_per_sm // max(1, blocks * self.shape.threads)
        if blocks < FEWEST or registers < ROOM:
            return
        self.resident = self.most_blocks = blocks
        self.kept.fetch_ahead(registers - OTHERS)

    def streamed(self, number: int) -> list[Get]:
        """The reads of a walk of which each row has elements of its own, side by side."""
        rows, last = set(self.shape.row_vars), self.walks[number].vars[-1]
        found = dict.fromkeys(reads(self.walks[number].value))
        return [e for e in found if rows & set(variables(e)) and stride(e, last) == 1]

    def crowded(self, shared_bytes: int) -> bool:
        """Whether a block does not keep all that it needs again, or leaves no room for another."""
        if self.kept is None or self.left is None:
            return self.kept is None
        whole = self.left.arrays.keys() == self.kept.arrays.keys()
        return not whole or 2 * (self.left.nbytes + RESERVED) > shared_bytes

    def once(self) -> tuple[Var, ...]:
        """The tensors of which nothing is needed again, in a kernel that writes little: where as
        much is written as is read, this hinders (H200: 3 % more time), and in long walks such loads
        hold more registers."""
        turns = known_product(self.walks[0].extents) // (self.lanes[0] * self.shape.width)
        if len(self.walks) > 1 or turns > MOST_WRITTEN_OUT:
            return ()
        sizes = self.sizes | dict(zip(self.walks[0].vars, self.walks[0].extents, strict=True))
        turning = (*self.shape.row_vars, *self.walks[0].vars)
        return read_once(self.walks[0].value, [var for var in turning if sizes[var] != 1])

    @part
    def begin(self) -> None:
        """What is kept from one walk to the next has a place."""
        for kept in static((self.kept, self.left)):
            if kept is not None:
                write(kept.declared())

    def arrive(self, row: Row) -> None:
        """A row is read in its first walk."""

    @part
    def walk(self, number: int, element: Element) -> None:
        """`element` at every place of a walk, spread over the threads of a row."""
        for spread in static(self.spreads(number)):
            spread.each(element)

    def spreads(self, number: int) -> list[Spread]:
        """The turns of a walk: those of which much is kept in registers, and the rest."""
        extents, lanes, width = self.walks[number].extents, self.lanes[number], self.shape.width
        most = WRITTEN_OUT if self.kept is None else MOST_WRITTEN_OUT
        every = Spread(extents, self.lane, width, lanes, most, self.kept, self.shape.threads)
        if self.kept is None or self.turns() == self.kept_turns:
            return [every]
        first = self.kept_turns
        rest = replace(every, kept=self.left, most=WRITTEN_OUT, start=first, kept_from=first)
        return [replace(every, stop=first), rest]

    def take(
        self, number: int, row: Row, into: Accumulator, place: Place, slot: Expr, kept: Kept | None
    ) -> None:
        """An element of a reduction goes into an accumulator."""
        before, value = with_serial_reductions(self.value(number, row, place, slot, kept), {})
        write((*before, *into.take(value, ravel(place, self.walks[number].extents))))

    def put(self, row: Row, place: Place, slot: Expr, kept: Kept | None) -> None:
        """An element of the row is written to all results."""
        where = row.index | dict(zip(self.shape.inner_vars, place, strict=True))
        index = tuple(substitute(each, where) for each in self.stage.index)
        for number, out in enumerate(self.outs, len(self.reduces)):
            found = self.value(number, row, place, slot, kept)
            before, value = with_serial_reductions(found, {})
            write((*before, Put(out, index, convert(value, out.dtype))))

    @part
    def write(self, row: Row) -> None:
        """The row's elements, spread over its threads."""
        if self.inner:
            self.walk(len(self.reduces), partial(self.put, row))
        elif self.writes:
            write(put(self.stage, row.index, self.known))

    def value(self, number: int, row: Row, place: Place, slot: Expr, kept: Kept | None) -> Expr:
        """The value of an element of a walk, after statements that fill what is kept of it."""
        walk = self.walks[number]
        if kept is None:
            value = replaced(walk.value, self.known)
            return substitute(value, row.index | dict(zip(walk.vars, place, strict=True)))
        here = row.index | dict(zip(self.place, place, strict=True))
        write(substitute(each, here) for each in kept.stores(number, slot))
        return substitute(kept.value(number, slot), here)


@dataclass(frozen=True)
class Walk:
    """All places of a row, and a value at each."""

    vars: tuple[Var, ...]
    extents: tuple[Size, ...]
    value: Expr


FEWEST = 4
"""Blocks of a multiprocessor, at least, of which some read while others write."""
ROOM = 64
"""Registers of a thread, at least, in which a row's elements and more operands find place."""
OTHERS = 16
"""Registers of a thread for all but elements."""
RESERVED = 4096
"""Bytes of shared memory that the rest of a kernel may need."""


def budget(threads: int) -> int:
    """Bytes of registers that a thread may keep: half of what a full block leaves it."""
    return 128 if threads > LARGE else 256


def is_number(size: Size) -> bool:
    """Whether a size is known."""
    return constant_size(size) is not None
