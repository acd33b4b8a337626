"""Rows too long for the registers of a block, which takes one after the other and reads it in
shared memory. What gains by the registers of a cluster goes through these: `turns.py`."""

from __future__ import annotations

from dataclasses import replace

from hidet.ir.expr import Expr, Var, constant, convert, wrap
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Body, For, If, Invoke, Put
from hidet.ir.walk import replaced, substitute
from hidet.schedules.automatic.access import constant_size, known_product
from hidet.schedules.automatic.cuda.grid import guarded
from hidet.schedules.automatic.cuda.kept import Kept
from hidet.schedules.automatic.cuda.meeting import Meeting
from hidet.schedules.automatic.cuda.ring import Ring, piece_done
from hidet.schedules.automatic.cuda.row_shape import Shape, choose_shape, over_cluster
from hidet.schedules.automatic.cuda.rows import LARGE, RESERVED, Rows
from hidet.schedules.automatic.cuda.spread import Element, Spread
from hidet.schedules.automatic.cuda.turns import comes_in_pieces, taken_in_turns
from hidet.schedules.automatic.emit import AnyReduce, ceil_div
from hidet.schedules.automatic.plan import MapStage
from hidet.target import PAIR, Target
from hidet.types import i32

THREADS = 1024
"""Threads of a block."""
RESIDENT = 1
"""Blocks of a multiprocessor at a time."""
TOGETHER = 2
"""Pieces that are written before others take their place: their operands, such as weights along
the row, are in flight together."""


def choose_rows(stage: MapStage, reduces: list[AnyReduce], target: Target) -> Rows:
    """How groups of threads each compute the reductions of a row, then write its elements.

    A row is a cluster's if one block that keeps it would have its multiprocessor for itself:
    nothing would be read while its threads wait for each other. It rather stays in shared memory
    than in registers where its clusters leave no multiprocessor without a block.
    """
    shape = choose_shape(stage, reduces)
    room = target.max_shared_bytes_per_block
    found = Rows(stage, shape, reduces, room)
    shared = over_cluster(shape, known_product(found.walks[0].extents), target)
    turns = None if shared is None else taken_in_turns(found, shared, target)
    if turns is not None and not turns.weighed_down:
        return turns
    stream = streamed(found, target)
    if stream is not None and (turns is None or stream.shape.blocks <= PAIR):
        return stream
    if turns is not None:
        return turns
    if shared is not None and found.crowded(room):
        among = Rows(stage, shared, reduces, room)
        found = found if among.kept is None else among
    found.choose_occupancy(target)
    return found


def streamed(found: Rows, target: Target) -> Stream | None:
    """The same by few blocks that take turns; None if a row fits the registers of a block, or
    there are too few rows or too little memory for that."""
    rows = constant_size(found.rows)
    if found.shape.width <= LARGE or rows is None or not comes_in_pieces(found, target):
        return None
    blocks = 1
    room = target.max_shared_bytes_per_block // RESIDENT - RESERVED
    while blocks <= target.max_blocks_per_cluster:
        most = target.cores_in_clusters(blocks) * RESIDENT // blocks
        at_once = -(-rows // -(-rows // max(1, most)))  # as many in every turn
        shape = replace(found.shape, width=THREADS * blocks, blocks=blocks, at_once=at_once)
        stream = Stream(found.stage, shape, found.reduces, room)
        if stream.ring.worth_it:
            return stream if most < rows else None
        blocks *= 2
    return None


class Stream(Rows):
    """Walks over rows in a ring in shared memory."""

    def __init__(
        self, stage: MapStage, shape: Shape, reduces: list[AnyReduce], shared_bytes: int
    ) -> None:
        super().__init__(stage, shape, reduces, shared_bytes)
        turns, lanes = self.turns(), max(self.lanes)
        assert turns is not None
        self.lanes = [lanes] * len(self.walks)
        self.meetings = self.merged()
        self.read = self.values()
        """The values of all walks at one place."""
        along = shape.row_vars, self.place
        self.ring = Ring(self.read, along, turns, lanes, shape.threads, shared_bytes)

    def keep(self, shared_bytes: int) -> Kept | None:
        """Nothing is kept in registers, as all walks read the ring."""
        return None

    def kernel(self, name: str, params: tuple[Var, ...]) -> Kernel:
        """The whole kernel, with registers for the blocks of a multiprocessor."""
        made = super().kernel(name, params)
        return replace(made, launch=replace(made.launch, min_blocks=RESIDENT))

    def whole_row(self) -> Body:
        """All rows of a block, after the first pieces have begun."""
        ring, here = self.ring, self.again
        start = [s for piece in range(ring.pieces) for s in self.begin(constant(0, i32), piece)]
        row = (*ring.await_row(), *self.found(here), *self.elements())
        rows = guarded(self.row, self.rows, self.shape.at_once, row)
        turns = wrap(ceil_div(self.rows, self.shape.at_once))
        return (*ring.declared(), *start, *self.prepared(), For(here, turns, rows))

    def begin(self, again: Expr, piece: int) -> Body:
        """Begin to copy the piece that comes so many after the first one of a block's row."""
        later, turn = divmod(piece, self.ring.turns)
        row = self.first + (again + later) * self.shape.at_once
        index, number = self.at_row(row), again * self.ring.turns + piece

        def element(place: tuple[Expr, ...], slot: Expr, kept: Kept | None) -> Body:
            here = index | dict(zip(self.place, place, strict=True))
            return self.ring.begin(number, slot, here)

        copies = self.pieces(0, turn, turn + 1).body(element)
        return (If(row < self.rows, copies), *piece_done())

    def at(
        self, number: int, place: tuple[Expr, ...], slot: Expr, kept: Kept | None
    ) -> tuple[Body, Expr]:
        """The value of an element of a walk, of what is in the ring."""
        here = self.index | dict(zip(self.place, place, strict=True))
        value = replaced(self.read[number], self.ring.loads(self.again, slot))
        return (), substitute(value, here)

    def part(self, number: int, meeting: Meeting) -> Body:
        """What a thread finds of its own; what another walk has read it reads again, as registers
        do not hold it all."""
        return (Invoke("syncwarp"), *super().part(number, meeting))

    def walk(self, number: int, element: Element) -> Body:
        """`element` at every place of a walk, all of it written out."""
        return self.pieces(number, 0, self.ring.turns).body(element)

    def pieces(self, number: int, start: int, stop: int) -> Spread:
        """The places of some pieces."""
        shape, turns = self.shape, self.ring.turns
        extents, lanes = self.walks[number].extents, self.lanes[number]
        spread = Spread(extents, self.lane, shape.width, lanes, turns, None, shape.threads, start)
        return spread if stop == turns else replace(spread, stop=stop)

    def elements(self) -> Body:
        """The row's elements; others take the place of those that are done, some pieces at once."""
        turns = self.ring.turns
        if not self.inner:
            return super().elements() + self.next_pieces(0, turns)
        body: Body = ()
        for start in range(0, turns, TOGETHER):
            stop = min(start + TOGETHER, turns)
            body += self.elements_of(start, stop) + self.next_pieces(start, stop)
        return body

    def next_pieces(self, start: int, stop: int) -> Body:
        """Begin to copy what takes the place of some pieces of a row."""
        later = range(start + self.ring.pieces, stop + self.ring.pieces)
        return tuple(s for piece in later for s in self.begin(self.again, piece))

    def elements_of(self, start: int, stop: int) -> Body:
        """The elements of some pieces."""
        outs = (self.stage.out, *(out for out, _ in self.stage.also))

        def element(place: tuple[Expr, ...], slot: Expr, kept: Kept | None) -> Body:
            where = self.index | dict(zip(self.shape.inner_vars, place, strict=True))
            index = tuple(substitute(e, where) for e in self.stage.index)
            slot = slot + start * self.ring.lanes
            numbers = range(len(self.reduces), len(self.walks))
            values = [self.at(number, place, slot, None)[1] for number in numbers]
            pairs = zip(outs, values, strict=True)
            return tuple(Put(out, index, convert(value, out.dtype)) for out, value in pairs)

        return self.pieces(len(self.reduces), start, stop).body(element)
