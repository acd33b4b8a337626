"""Passes over rows that come through a pipeline in shared memory (`row_copies.py`)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hidet.ir.expr import Expr, Value
from hidet.lang import Int, part, static
from hidet.lang.cuda import cp_async_commit_group, cp_async_wait_group
from hidet.schedules.automatic.cuda.distribution import Distribution, Element, Visit
from hidet.schedules.automatic.cuda.grid import write
from hidet.schedules.automatic.cuda.reduction import Row
from hidet.schedules.automatic.cuda.resident import Resident
from hidet.schedules.automatic.cuda.row_copies import RowCopies, along_rows, is_of_row, stage_bytes
from hidet.schedules.automatic.cuda.row_shape import RowShape
from hidet.schedules.automatic.cuda.rows import Rows
from hidet.schedules.automatic.plan import reductions
from hidet.target import Target


class PipelinedRows(Rows):
    """Rows of which the next ones are copied while one is worked on."""

    most_rows: int
    """Rows that the pipeline holds, at most."""

    def __init__(self, rows: Rows, shape: RowShape, shared_bytes: int, min_blocks: int) -> None:
        super().__init__(rows.stage, shape, rows.reduces, shared_bytes)
        iterations, lanes = self.pass_iterations(), max(self.lanes)
        assert iterations is not None
        self.stages_per_row, self.min_blocks = iterations, min_blocks
        self.lanes = [lanes] * len(self.passes)
        self.reductions = self.merged()
        self.read = self.values()
        """The values of all passes at one place."""
        self.along = along_rows(self.read, self.place[-1])
        self.pipeline = self.pipeline_of(shared_bytes)

    def pipeline_of(self, shared_bytes: int) -> RowCopies:
        """The pipeline with as many stages as such memory holds."""
        moving = [read for read in self.along if is_of_row(read, self.shape.row_vars)]
        lanes, threads = self.lanes[0], self.shape.threads
        stages = shared_bytes // max(1, stage_bytes(moving, lanes, threads))
        stages = min(self.most_rows * self.stages_per_row, stages)
        return RowCopies("prefetched", moving, stages, lanes, threads)

    def keep(self, shared_bytes: int) -> Resident | None:
        """Nothing of a row is resident but what the pipeline holds."""
        return None

    def copied(self, row: Row) -> Value:
        """The number of a row's first stage."""
        return row.iteration * self.stages_per_row

    @part
    def begin(self) -> None:
        write(self.pipeline.declared())
        for stage in static(range(self.pipeline.stages)):
            self.load_stage(0, stage)

    @part
    def load_stage(self, iteration: Int, stage: int) -> None:
        """Start the copy of the stage that is so many after the first one of a block's row; the
        copies of a stage are a group, also where there is nothing left to copy."""
        later, into = divmod(stage, self.stages_per_row)
        if self.is_copied(iteration + later, later):
            self.stages(into, into + 1).each(partial(self.copy, self.row(iteration + later)))
        cp_async_commit_group()

    def is_copied(self, iteration: Value, later: int) -> Expr | bool:
        """Whether there is a row so many after the one that is worked on."""
        return self.number(iteration) < self.rows

    def copy(self, row: Row, element: Element) -> None:
        """Start the copies of an element."""
        write(self.pipeline.begin(self.copied(row), element.slot, self.at(row, element)))

    @part
    def load(self, row: Row) -> None:
        """Wait for the stages of this row, not for those behind it."""
        cp_async_wait_group(self.pipeline.stages - self.stages_per_row)

    @part
    def run_pass(self, number: int, visit: Visit) -> None:
        self.stages(0, self.stages_per_row).each(visit)

    def stages(self, start: int, stop: int) -> Distribution:
        """The places of some stages, all of them unrolled."""
        shape, iterations = self.shape, self.stages_per_row
        extents, lanes = self.passes[0].extents, max(self.lanes)
        every = Distribution(
            extents, self.lane, shape.width, lanes, iterations, None, shape.threads
        )
        return replace(every, start=start, stop=None if stop == iterations else stop)


def can_pipeline(found: Rows, target: Target) -> bool:
    """Whether rows, which do not fit the registers of a block, may come through a pipeline: all
    passes are as long, and read what is known when a row begins."""
    fits = found.resident is not None and found.in_shared is None
    if fits or found.pass_iterations() is None or not target.has_feature("cp_async"):
        return False
    return not any(True for value in found.values() for _ in reductions(value))
