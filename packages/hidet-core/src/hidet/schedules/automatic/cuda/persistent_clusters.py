"""Rows too long for the registers of a block: persistent clusters take one after the other.

A row comes through a pipeline in shared memory (`row_copies.py`) into registers, where all passes
read it: its stages are free at once, so that the whole pipeline holds later rows while threads
compute, synchronise and write. A multiprocessor has several blocks, so that some compute while
others wait.

Multiprocessors are not equally fast when all are busy. So the first clusters are persistent, each
with as many rows as all of them surely have time for; each remaining row has a cluster of its own,
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
from hidet.schedules.automatic.cuda.cross_warp_reduction import CrossWarpReduction, PartialReduction
from hidet.schedules.automatic.cuda.distribution import Element
from hidet.schedules.automatic.cuda.grid import write
from hidet.schedules.automatic.cuda.pipelined_rows import PipelinedRows, can_pipeline
from hidet.schedules.automatic.cuda.reduction import Row
from hidet.schedules.automatic.cuda.resident import Resident
from hidet.schedules.automatic.cuda.rounding import only_rounded
from hidet.schedules.automatic.cuda.row_copies import (
    SMALLEST,
    RowCopies,
    is_of_row,
    stage_bytes,
)
from hidet.schedules.automatic.cuda.row_shape import MOST_THREADS, RowShape
from hidet.schedules.automatic.cuda.rows import RESERVED, Rows, budget
from hidet.target import Target
from hidet.types import i32

EVERYTHING = 1 << 16
"""Bytes of registers that are more than there are."""
SURELY = 7, 8
"""The part of all rows that persistent clusters take."""
BLOCKS = 8
"""Blocks of a cluster, at least: norms of shorter rows gain nothing."""
WIDE = 16
"""Bytes of a copy."""
ENOUGH = 28
"""Elements of a thread, at least: a cluster reduction takes its time however short the row is."""
FEWEST = 2
"""Rows of a cluster from which on copies overlap with computation."""


def choose_persistent_clusters(
    found: Rows, shape: RowShape, target: Target
) -> PersistentClusters | None:
    """The same by the largest persistent clusters; None if a row fits the registers of a block or
    is too short for a cluster, or there are too few rows or too little memory for that."""
    rows = constant_size(found.rows)
    elements = known_product(found.passes[0].extents)
    small = shape.blocks < BLOCKS or elements < ENOUGH * shape.width
    if small or rows is None or not can_pipeline(found, target):
        return None
    while shape.threads <= MOST_THREADS:
        min_blocks = MOST_THREADS // shape.threads
        at_once = target.cores_in_clusters(shape.blocks) * min_blocks // shape.blocks
        unused = target.shared_bytes_per_sm - target.max_shared_bytes_per_block  # by each block
        room = target.shared_bytes_per_sm // min_blocks - unused - RESERVED
        if at_once == 0 or guaranteed_rows(rows, at_once) < FEWEST:
            return None
        clusters = PersistentClusters(found, shape, room, min_blocks, at_once)
        if clusters.worth_it:
            return clusters
        shape = replace(shape, width=2 * shape.width)  # fewer elements for a thread
    return None


def guaranteed_rows(rows: int, at_once: int) -> int:
    """Rows that each of `at_once` clusters surely has time for."""
    part, whole = SURELY
    return rows * part // (whole * at_once)


class PersistentClusters(PipelinedRows):
    """Passes over rows that come through a pipeline in shared memory into registers."""

    most_rows = 3

    def __init__(
        self, rows: Rows, shape: RowShape, shared_bytes: int, min_blocks: int, at_once: int
    ) -> None:
        super().__init__(rows, replace(shape, at_once=at_once), shared_bytes, min_blocks)
        count, group = known_product([self.rows]), self.first
        self.rows_each = guaranteed_rows(count, at_once)
        """Rows of each persistent cluster; there are `at_once` of them."""
        self.clusters = at_once + count - self.rows_each * at_once
        self.first = Var("first", i32)
        begin = Select(group < at_once, group, group + (self.rows_each - 1) * at_once)
        self.first_row = Declare(self.first, begin)
        self.iterations = Select(group < at_once, constant(self.rows_each, i32), constant(1, i32))
        self.all_there = False
        lanes, threads = self.lanes[0], shape.threads
        same = [read for read in self.along if not is_of_row(read, shape.row_vars)]
        same = [read for read in same if read.dtype.nbytes * lanes >= SMALLEST]
        self.invariant = RowCopies("invariant", same, self.stages_per_row, lanes, threads)
        """Operands that are the same for all rows."""
        whole, rest = self.pipeline, self.pipeline_of(shared_bytes - self.invariant.nbytes)
        self.weights_dominate = False
        """Whether each row reads more bytes of weights, which do not fit shared memory, than of its
        own: these come from the L2 cache, which then has no time for rows."""
        if rest.stages >= self.stages_per_row:
            self.pipeline = rest
        else:
            row_bytes = stage_bytes(whole.arrays, lanes, threads) * self.stages_per_row
            self.weights_dominate = self.invariant.nbytes > row_bytes
            self.invariant.arrays.clear()
        slots = self.stages_per_row * lanes
        self.in_registers = Resident(self.read, self.place, slots, EVERYTHING)
        """The elements of a row, and what is computed of them, in registers."""
        for read in self.in_registers.reads():
            if read in self.pipeline.arrays:
                self.in_registers.hold(read)

    @property
    def worth_it(self) -> bool:
        """Whether the pipeline has room for a row that comes by wide copies, and a thread registers
        for its part of it."""
        room = self.pipeline.stages >= self.stages_per_row and self.pipeline.narrowest >= WIDE
        return room and 4 * self.in_registers.most_at_once() <= budget(MOST_THREADS)

    def values(self) -> list[Expr]:
        """The values of all passes at one place. The terms that were summed about a thread's own
        centre are used again, moved to the centre of the row."""
        found = super().values()
        for reduction in (each for each in self.reductions if isinstance(each, CrossWarpReduction)):
            others = [number for number in range(len(found)) if number not in reduction.parts]
            for number, own in reduction.parts.items():
                self.reuse_terms(number, own, others, found)
        return found

    def reuse_terms(
        self, number: int, own: PartialReduction, others: list[int], found: list[Expr]
    ) -> None:
        """Use the terms that pass `number` sums in `others`."""
        if own.pivot is None:
            return
        places = dict(zip(self.passes[number].vars, self.place, strict=True))
        same = substitute(replaced(own.reduce.value, self.known), places)
        parts = {same, own.total.result}
        if all(only_rounded(self.written(n, found[n]), parts) for n in others):
            found[number] = own.pivot.rough(found[number])
        moved = own.pivot.each(found[number], own.own, self.known[own.pivot.first])
        if moved is not None:
            for n in others:
                found[n] = replaced(found[n], {same: moved})

    def written(self, number: int, value: Expr) -> Expr:
        """The value of a pass, as it goes to memory if it does."""
        outs = (self.stage.out, *(out for out, _ in self.stage.also))
        position = number - len(self.reduces)
        return value if position < 0 else convert(value, outs[position].dtype)

    @part
    def begin(self) -> None:
        """Start the copies of what is the same for all rows, then of the first stages."""
        write((*self.invariant.declared(), *self.in_registers.declared(), self.first_row))
        if self.invariant.arrays:
            self.stages(0, self.stages_per_row).each(self.copy_invariant)
        PipelinedRows.begin(self)

    def copy_invariant(self, element: Element) -> None:
        """Start the copy of an element that is the same for all rows; it arrives with the first
        stage of a row."""
        here = dict(zip(self.place, element.place, strict=True))
        write(self.invariant.begin(0, element.slot, here))

    def is_copied(self, iteration: Value, later: int) -> Expr | bool:
        """Whether the cluster takes that row too."""
        return later == 0 or self.number(iteration) < self.rows_each * self.shape.at_once

    @part
    def load(self, row: Row) -> None:
        """Move a row from the pipeline to registers; the next copy goes to each stage at once."""
        PipelinedRows.load(self, row)
        for stage in static(range(self.stages_per_row)):
            self.stages(stage, stage + 1).each(partial(self.hold, row))
            self.load_stage(row.iteration, stage + self.pipeline.stages)

    def hold(self, row: Row, element: Element) -> None:
        """Move an element of a stage to registers."""
        there = self.pipeline.loads(self.copied(row), element.slot)
        steps = self.in_registers.stores(0, element.slot, there)
        write(substitute(each, self.at(row, element)) for each in steps)

    def value(self, number: int, row: Row, element: Element) -> Expr:
        """The value of an element of a pass, of what is in registers."""
        slot = element.slot
        here, there = self.at(row, element), self.invariant.loads(0, slot)
        if number:
            write(substitute(each, here) for each in self.in_registers.stores(number, slot, there))
        return substitute(replaced(self.in_registers.value(number, slot), there), here)
