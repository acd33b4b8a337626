"""Rows too long for the registers of a block, which takes one after the other and reads it in
shared memory. What gains by the registers of a cluster goes through these: `turns.py`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hidet.ir.expr import Expr
from hidet.ir.walk import replaced, substitute
from hidet.lang import part, static
from hidet.lang.cuda import syncwarp
from hidet.schedules.automatic.access import constant_size, known_product
from hidet.schedules.automatic.cuda.kept import Kept
from hidet.schedules.automatic.cuda.ring import Ring
from hidet.schedules.automatic.cuda.row_shape import Shape, choose_shape, over_cluster
from hidet.schedules.automatic.cuda.rows import LARGE, RESERVED, Row, Rows
from hidet.schedules.automatic.cuda.spread import Element, Place
from hidet.schedules.automatic.cuda.through_ring import ThroughRing
from hidet.schedules.automatic.cuda.turns import comes_in_pieces, taken_in_turns
from hidet.schedules.automatic.emit import AnyReduce
from hidet.schedules.automatic.plan import MapStage
from hidet.target import PAIR, Target

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


class Stream(ThroughRing):
    """Walks over rows in a ring in shared memory."""

    def __init__(
        self, stage: MapStage, shape: Shape, reduces: list[AnyReduce], shared_bytes: int
    ) -> None:
        super().__init__(stage, shape, reduces, shared_bytes)
        turns, lanes = self.turns(), max(self.lanes)
        assert turns is not None
        self.resident = RESIDENT
        self.lanes = [lanes] * len(self.walks)
        self.meetings = self.merged()
        self.read = self.values()
        """The values of all walks at one place."""
        along = shape.row_vars, self.place
        self.ring = Ring(self.read, along, turns, lanes, shape.threads, shared_bytes)

    def value(self, number: int, row: Row, place: Place, slot: Expr, kept: Kept | None) -> Expr:
        """The value of an element of a walk, of what is in the ring."""
        value = replaced(self.read[number], self.ring.loads(row.again, slot))
        return substitute(value, self.at(row, place))

    @part
    def walk(self, number: int, element: Element) -> None:
        """What another walk has read is read again, as registers do not hold it all."""
        syncwarp()
        ThroughRing.walk(self, number, element)

    @part
    def write(self, row: Row) -> None:
        """The row's elements; others take the place of those that are done, some pieces at once."""
        if not self.inner:
            Rows.write(self, row)
        for start, stop in static(self.steps):
            if self.inner:
                self.pieces(start, stop).each(partial(self.put, row))
            for piece in static(range(start, stop)):
                self.begin_piece(row.again, piece + self.ring.pieces)

    @property
    def steps(self) -> list[tuple[int, int]]:
        """Pieces that are written together."""
        turns = self.ring.turns
        return [(at, min(at + TOGETHER, turns)) for at in range(0, turns, TOGETHER)]
