"""Rows too long for the registers of a block: clusters of blocks take one after the other.

A row comes through a ring in shared memory (`ring.py`) into registers, where all walks find
it: its place in the ring is free at once, so that the whole ring is what comes next while threads
compute, wait for each other and write. Several blocks have a multiprocessor, so that some compute
while others wait.

Multiprocessors are not equally fast when all are busy. So the first clusters take turns, each with
as many rows as all of them surely have time for; those rows that are left are a cluster's each,
which the hardware starts wherever one has ended.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hidet.ir.expr import Expr, Select, Value, Var, constant, convert
from hidet.ir.stmt import Declare
from hidet.ir.walk import replaced, substitute
from hidet.lang import part, static
from hidet.schedules.automatic.access import constant_size, known_product
from hidet.schedules.automatic.cuda.common import Common
from hidet.schedules.automatic.cuda.grid import write
from hidet.schedules.automatic.cuda.kept import Kept
from hidet.schedules.automatic.cuda.meeting import Meeting, Part
from hidet.schedules.automatic.cuda.ring import Ring
from hidet.schedules.automatic.cuda.rounding import only_rounded
from hidet.schedules.automatic.cuda.row_shape import MOST_THREADS, Shape
from hidet.schedules.automatic.cuda.rows import RESERVED, Row, Rows, budget
from hidet.schedules.automatic.cuda.spread import Place
from hidet.schedules.automatic.cuda.through_ring import ThroughRing
from hidet.schedules.automatic.emit import AnyReduce
from hidet.schedules.automatic.plan import MapStage, reductions
from hidet.target import Target
from hidet.types import i32

EVERYTHING = 1 << 16
"""Bytes of registers that are more than there are."""
SURELY = 7, 8
"""The part of all rows that clusters take in turns."""
ROWS = 3
"""Rows that the ring has room for, at most."""
BLOCKS = 8
"""Blocks of a cluster, at least: norms of shorter rows gain nothing."""
WIDE = 16
"""Bytes of a copy."""
ENOUGH = 28
"""Elements of a thread, at least: meetings take their time however short the row is."""
FEWEST = 2
"""Rows of a cluster from which on something is on its way while it works."""


def taken_in_turns(found: Rows, shape: Shape, target: Target) -> Turns | None:
    """The same by the largest clusters in turns; None if a row fits the registers of a block or is
    too short for a cluster, or there are too few rows or too little memory for that."""
    rows = constant_size(found.rows)
    elements = known_product(found.walks[0].extents)
    small = shape.blocks < BLOCKS or elements < ENOUGH * shape.width
    if small or rows is None or not comes_in_pieces(found, target):
        return None
    while shape.threads <= MOST_THREADS:
        resident = MOST_THREADS // shape.threads
        at_once = target.cores_in_clusters(shape.blocks) * resident // shape.blocks
        unused = target.shared_bytes_per_sm - target.max_shared_bytes_per_block  # by each block
        room = target.shared_bytes_per_sm // resident - unused - RESERVED
        if at_once == 0 or turns_of_all(rows, at_once) < FEWEST:
            return None
        turns = Turns(found.stage, shape, found.reduces, room, resident, at_once)
        if turns.worth_it:
            return turns
        shape = replace(shape, width=2 * shape.width)  # fewer elements for a thread
    return None


def comes_in_pieces(found: Rows, target: Target) -> bool:
    """Whether rows, which do not fit the registers of a block, may come through a ring: all walks
    are as long, and read what is known when a row begins."""
    fits = found.kept is not None and found.left is None
    if fits or found.turns() is None or not target.has_feature("cp_async"):
        return False
    return not any(True for value in found.values() for _ in reductions(value))


def turns_of_all(rows: int, at_once: int) -> int:
    """Rows that each of `at_once` clusters surely has time for."""
    part, whole = SURELY
    return rows * part // (whole * at_once)


class Turns(ThroughRing):
    """Walks over rows that come through a ring in shared memory into registers."""

    def __init__(
        self,
        stage: MapStage,
        shape: Shape,
        reduces: list[AnyReduce],
        shared_bytes: int,
        resident: int,
        at_once: int,
    ) -> None:
        super().__init__(stage, replace(shape, at_once=at_once), reduces, shared_bytes)
        rows, group = known_product([self.rows]), self.first
        self.resident = resident
        self.long = turns_of_all(rows, at_once)
        """Rows that each of the first clusters takes, `at_once` in number."""
        self.groups = at_once + rows - self.long * at_once
        self.first = first = Var("first", i32)
        begin = Select(group < at_once, group, group + (self.long - 1) * at_once)
        self.begun = Declare(first, begin)
        """A block's first row."""
        self.taken = Select(group < at_once, constant(self.long, i32), constant(1, i32))
        self.all_there = False
        turns, lanes = self.turns(), max(self.lanes)
        assert turns is not None
        self.lanes = [lanes] * len(self.walks)
        self.meetings = self.merged()
        values, along = self.values(), (shape.row_vars, self.place)
        self.common = Common(values, along, turns * lanes, lanes, shape.threads)
        room = shared_bytes - self.common.nbytes
        self.ring = Ring(values, along, turns, lanes, shape.threads, room, ROWS)
        self.weighed_down = False
        """Whether each row takes more of weights, which have no room, than of itself: these come
        through the second cache, which then has no time for rows."""
        if self.ring.pieces < turns:
            self.weighed_down = self.common.nbytes > turns * self.ring.piece
            self.common.arrays.clear()
            self.ring = Ring(values, along, turns, lanes, shape.threads, shared_bytes, ROWS)
        self.held = Kept(values, self.place, turns * lanes, EVERYTHING)
        """The elements of a row in registers, and what is made of them."""
        for read in self.held.reads():
            if read in self.ring.arrays:
                self.held.hold(read)

    @property
    def worth_it(self) -> bool:
        """Whether the ring has room for a row that comes by wide copies, and a thread registers
        for all that it takes of it."""
        ring = self.ring.pieces >= self.ring.turns and self.ring.narrowest >= WIDE
        return ring and 4 * self.held.most_at_once() <= budget(MOST_THREADS)

    def values(self) -> list[Expr]:
        """The values of all walks at one place. What was summed about a thread's own centre serves
        again, seen from that of all."""
        found = super().values()
        for meeting in (each for each in self.meetings if isinstance(each, Meeting)):
            others = [number for number in range(len(found)) if number not in meeting.parts]
            for number, own in meeting.parts.items():
                self.serve_again(number, own, others, found)
        return found

    def serve_again(self, number: int, own: Part, others: list[int], found: list[Expr]) -> None:
        """Let what walk `number` sums serve in `others`."""
        if own.pivot is None:
            return
        places = dict(zip(self.walks[number].vars, self.place, strict=True))
        same = substitute(replaced(own.reduce.value, self.known), places)
        parts = {same, own.total.result}
        if all(only_rounded(self.written(n, found[n]), parts) for n in others):
            found[number] = own.pivot.rough(found[number])
        moved = own.pivot.each(found[number], own.own, self.known[own.pivot.first])
        if moved is not None:
            for n in others:
                found[n] = replaced(found[n], {same: moved})

    def written(self, number: int, value: Expr) -> Expr:
        """The value of a walk, as it goes to memory if it does."""
        outs = (self.stage.out, *(out for out, _ in self.stage.also))
        position = number - len(self.reduces)
        return value if position < 0 else convert(value, outs[position].dtype)

    @part
    def begin(self) -> None:
        """What is the same for all rows begins to come, then the first pieces."""
        write((*self.common.declared(), *self.held.declared(), self.begun))
        if self.common.arrays:
            self.pieces(0, self.ring.turns).each(self.fetch)
        ThroughRing.begin(self)

    def fetch(self, place: Place, slot: Expr, kept: Kept | None) -> None:
        """Begin to copy an element that is the same for all rows; it is there when the first piece
        of a row is."""
        here = dict(zip(self.place, place, strict=True))
        write(substitute(each, here) for each in self.common.begin(slot))

    def comes(self, again: Value, later: int) -> Expr | bool:
        """Whether the cluster takes that row too."""
        return later == 0 or self.number(again) < self.long * self.shape.at_once

    @part
    def arrive(self, row: Row) -> None:
        """Take a row's elements out of the ring; others take the place of each piece at once."""
        ThroughRing.arrive(self, row)
        for turn in static(range(self.ring.turns)):
            self.pieces(turn, turn + 1).each(partial(self.hold, row))
            self.begin_piece(row.again, turn + self.ring.pieces)

    def hold(self, row: Row, place: Place, slot: Expr, kept: None) -> None:
        """Take an element of a piece."""
        steps = self.held.stores(0, slot, self.ring.loads(row.again, slot))
        write(substitute(each, self.at(row, place)) for each in steps)

    def value(self, number: int, row: Row, place: Place, slot: Expr, kept: Kept | None) -> Expr:
        """The value of an element of a walk, of what is in registers."""
        here, there = self.at(row, place), self.common.loads(slot)
        if number:
            write(substitute(each, here) for each in self.held.stores(number, slot, there))
        return substitute(replaced(self.held.value(number, slot), there), here)
