"""Rows too long for the registers of a block: a persistent block reads them in shared memory.

Rows that gain by the registers of a cluster go through these: `persistent_clusters.py`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hidet.ir.expr import Expr
from hidet.ir.walk import replaced, substitute
from hidet.lang import part, static
from hidet.lang.cuda import syncwarp
from hidet.schedules.automatic.access import constant_size
from hidet.schedules.automatic.cuda.distribution import Element, Visit
from hidet.schedules.automatic.cuda.pipelined_rows import PipelinedRows, can_pipeline
from hidet.schedules.automatic.cuda.reduction import Row
from hidet.schedules.automatic.cuda.row_copies import SMALLEST, RowCopies
from hidet.schedules.automatic.cuda.rows import LARGE, RESERVED, Rows
from hidet.target import Target

THREADS = 1024
"""Threads of a block."""
RESIDENT = 1
"""Blocks of a multiprocessor at a time."""
STAGES_AT_ONCE = 2
"""Stages that are written before others take their place: their operands, such as weights along
the row, are in flight together."""


def choose_shared_memory(found: Rows, target: Target) -> SharedMemoryRows | None:
    """The same by persistent blocks; None if a row fits the registers of a block, or there are too
    few rows or too little memory for that."""
    rows = constant_size(found.rows)
    if found.shape.width <= LARGE or rows is None or not can_pipeline(found, target):
        return None
    blocks = 1
    room = target.max_shared_bytes_per_block // RESIDENT - RESERVED
    while blocks <= target.max_blocks_per_cluster:
        most = target.cores_in_clusters(blocks) * RESIDENT // blocks
        at_once = -(-rows // -(-rows // max(1, most)))  # as many rows for each
        shape = replace(found.shape, width=THREADS * blocks, blocks=blocks, at_once=at_once)
        rows_in_shared = SharedMemoryRows(found, shape, room, RESIDENT)
        if is_deep(rows_in_shared.pipeline, rows_in_shared.stages_per_row):
            return rows_in_shared if most < rows else None
        blocks *= 2
    return None


def is_deep(pipeline: RowCopies, stages_per_row: int) -> bool:
    """Whether half a row is in flight besides the one that is there, by copies wide enough."""
    return pipeline.narrowest >= SMALLEST and 2 * pipeline.stages >= 3 * stages_per_row


class SharedMemoryRows(PipelinedRows):
    """Passes that read rows in a pipeline in shared memory."""

    most_rows = 2

    def value(self, number: int, row: Row, element: Element) -> Expr:
        """The value of an element of a pass, of what is in the pipeline."""
        loads = self.pipeline.loads(self.copied(row), element.slot)
        return substitute(replaced(self.read[number], loads), self.at(row, element))

    @part
    def run_pass(self, number: int, visit: Visit) -> None:
        """Each pass reads shared memory again, as registers do not hold the row."""
        syncwarp()
        PipelinedRows.run_pass(self, number, visit)

    @part
    def write(self, row: Row) -> None:
        """Write the row's elements; the next copies go to stages that are done, a few at once."""
        if not self.inner:
            Rows.write(self, row)
        for start in static(range(0, self.stages_per_row, STAGES_AT_ONCE)):
            stop = min(start + STAGES_AT_ONCE, self.stages_per_row)
            if self.inner:
                self.stages(start, stop).each(partial(self.put, row))
            for stage in static(range(start, stop)):
                self.load_stage(row.iteration, stage + self.pipeline.stages)
