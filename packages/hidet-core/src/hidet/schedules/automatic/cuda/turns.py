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

from hidet.ir.expr import Expr, Select, Var, constant, convert
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Body, Declare, For, If
from hidet.ir.walk import replaced, substitute
from hidet.schedules.automatic.access import constant_size, known_product
from hidet.schedules.automatic.cuda.common import Common
from hidet.schedules.automatic.cuda.grid import BLOCK
from hidet.schedules.automatic.cuda.kept import Kept
from hidet.schedules.automatic.cuda.meeting import Part
from hidet.schedules.automatic.cuda.ring import Ring, piece_done
from hidet.schedules.automatic.cuda.rounding import only_rounded
from hidet.schedules.automatic.cuda.row_shape import MOST_THREADS, Shape
from hidet.schedules.automatic.cuda.rows import RESERVED, Rows, budget
from hidet.schedules.automatic.cuda.spread import Element, Spread
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


class Turns(Rows):
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
        super().__init__(stage, shape, reduces, shared_bytes)
        self.resident, self.at_once = resident, at_once
        self.long = turns_of_all(known_product([self.rows]), at_once)
        """Rows that each of the first clusters takes, `at_once` in number."""
        self.beginning, self.again = Var("first", i32), Var("again", i32)
        """A block's first row, and how many it has had before."""
        self.row = self.beginning + self.again * at_once
        self.index = self.at_row(self.row)
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

    def keep(self, shared_bytes: int) -> Kept | None:
        """Nothing is kept of rows that the ring does not hold."""
        return None

    def values(self) -> list[Expr]:
        """The values of all walks at one place. What was summed about a thread's own centre serves
        again, seen from that of all."""
        found = super().values()
        for meeting in self.meetings:
            others = [number for number in range(len(found)) if number not in meeting.parts]
            for number, part in meeting.parts.items():
                self.serve_again(number, part, others, found)
        return found

    def serve_again(self, number: int, part: Part, others: list[int], found: list[Expr]) -> None:
        """Let what walk `number` sums serve in `others`."""
        if part.pivot is None:
            return
        places = dict(zip(self.walks[number].vars, self.place, strict=True))
        same = substitute(replaced(part.reduce.value, self.known), places)
        parts = {same, part.total.result}
        if all(only_rounded(self.written(n, found[n]), parts) for n in others):
            found[number] = part.pivot.rough(found[number])
        moved = part.pivot.each(found[number], part.own, self.known[part.pivot.first])
        if moved is not None:
            for n in others:
                found[n] = replaced(found[n], {same: moved})

    def written(self, number: int, value: Expr) -> Expr:
        """The value of a walk, as it goes to memory if it does."""
        outs = (self.stage.out, *(out for out, _ in self.stage.also))
        position = number - len(self.reduces)
        return value if position < 0 else convert(value, outs[position].dtype)

    def kernel(self, name: str, params: tuple[Var, ...]) -> Kernel:
        """The whole kernel, by the clusters that take turns and those of one row."""
        made = super().kernel(name, params)
        rows = known_product([self.rows])
        groups = self.at_once + rows - self.long * self.at_once
        grid = (constant(groups * self.shape.blocks, i32), *made.launch.grid[1:])
        return replace(made, launch=replace(made.launch, grid=grid, max_blocks=0))

    def whole_row(self) -> Body:
        """All rows of a block, after the first pieces have begun."""
        ring, here, number = self.ring, self.again, BLOCK // self.shape.blocks
        long = number < self.at_once
        rest = number + (self.long - 1) * self.at_once
        first = Declare(self.beginning, Select(long, number, rest))
        mine = Select(long, constant(self.long, i32), constant(1, i32))
        declared = (*ring.declared(), *self.common.declared(), *self.held.declared())
        start = [s for piece in range(ring.pieces) for s in self.begin(constant(0, i32), piece)]
        row = (*self.take(), *self.found(here), *self.elements())
        rows = For(here, mine, (If(self.row < self.rows, row),))
        return (*declared, first, *self.fetch(), *start, *self.prepared(), rows)

    def fetch(self) -> Body:
        """Begin to copy what is the same for all rows; it is there when the first piece is."""

        def element(place: tuple[Expr, ...], slot: Expr, kept: Kept | None) -> Body:
            here = dict(zip(self.place, place, strict=True))
            return tuple(substitute(each, here) for each in self.common.begin(slot))

        return self.spread(0, 0, self.ring.turns).body(element) if self.common.arrays else ()

    def begin(self, again: Expr, piece: int) -> Body:
        """Begin to copy the piece that comes so many after the first one of a block's row."""
        later, turn = divmod(piece, self.ring.turns)
        row = self.beginning + (again + later) * self.at_once
        index = self.at_row(row)
        number = again * self.ring.turns + piece

        def element(place: tuple[Expr, ...], slot: Expr, kept: Kept | None) -> Body:
            here = index | dict(zip(self.place, place, strict=True))
            return self.ring.begin(number, slot, here)

        copies = self.spread(0, turn, turn + 1).body(element)
        if later == 0:
            return (*copies, *piece_done())
        return (If(row < self.long * self.at_once, copies), *piece_done())

    def take(self) -> Body:
        """Take a row's elements out of the ring; others take the place of each piece at once."""
        body: Body = self.ring.await_row()
        for turn in range(self.ring.turns):
            body += self.spread(0, turn, turn + 1).body(self.piece(turn))
            body += self.begin(self.again, turn + self.ring.pieces)
        return body

    def piece(self, turn: int) -> Element:
        """Take an element of a piece."""

        def element(place: tuple[Expr, ...], slot: Expr, kept: Kept | None) -> Body:
            here = self.index | dict(zip(self.place, place, strict=True))
            slot = slot + turn * self.ring.lanes
            steps = self.held.stores(0, slot, self.ring.loads(self.again, slot))
            return tuple(substitute(each, here) for each in steps)

        return element

    def at(
        self, number: int, place: tuple[Expr, ...], slot: Expr, kept: Kept | None
    ) -> tuple[Body, Expr]:
        """The value of an element of a walk, of what is in registers."""
        here = self.index | dict(zip(self.place, place, strict=True))
        there = self.common.loads(slot)
        steps = self.held.stores(number, slot, there) if number else ()
        value = replaced(self.held.value(number, slot), there)
        return tuple(substitute(each, here) for each in steps), substitute(value, here)

    def walk(self, number: int, element: Element) -> Body:
        """`element` at every place of a walk, all of it written out."""
        return self.spread(number, 0, self.ring.turns).body(element)

    def spread(self, number: int, start: int, stop: int) -> Spread:
        """The places of some pieces."""
        shape, turns = self.shape, self.ring.turns
        extents, lanes = self.walks[number].extents, self.lanes[number]
        every = Spread(extents, self.lane, shape.width, lanes, turns, self.held, shape.threads)
        return replace(every, start=start, stop=None if stop == turns else stop)
