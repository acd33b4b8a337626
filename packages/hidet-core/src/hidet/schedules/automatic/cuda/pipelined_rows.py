"""Passes over rows that come through a pipeline in shared memory (`row_pipeline.py`)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hidet.ir.expr import Expr, Value, Var
from hidet.lang import Int, part, static
from hidet.lang.cuda import cp_async_commit_group, cp_async_wait_group
from hidet.schedules.automatic.cuda.distribution import Distribution, Element, Place
from hidet.schedules.automatic.cuda.grid import write
from hidet.schedules.automatic.cuda.reduction import Row
from hidet.schedules.automatic.cuda.resident import Resident
from hidet.schedules.automatic.cuda.row_pipeline import RowPipeline
from hidet.schedules.automatic.cuda.rows import Rows


class PipelinedRows(Rows):
    """Rows of which the next ones are copied while one is worked on."""

    pipeline: RowPipeline

    def keep(self, shared_bytes: int) -> Resident | None:
        """Nothing of a row is resident but what the pipeline holds."""
        return None

    @part
    def begin(self) -> None:
        """Start the copies of the first stages."""
        write(self.pipeline.declared())
        for stage in static(range(self.pipeline.stages)):
            self.load_stage(0, stage)

    @part
    def load_stage(self, iteration: Int, stage: int) -> None:
        """Start the copy of the stage that is so many after the first one of a block's row; the
        copies of a stage are a group, also where there is nothing left to copy."""
        later, into = divmod(stage, self.pipeline.stages_per_row)
        if self.is_row(iteration + later, later):
            self.stages(into, into + 1).each(partial(self.copy, self.row(iteration + later)))
        cp_async_commit_group()

    def is_row(self, iteration: Value, later: int) -> Expr | bool:
        """Whether there is a row so many after the one that is worked on."""
        return self.number(iteration) < self.rows

    def copy(self, row: Row, place: Place, slot: Expr, resident: None) -> None:
        """Start the copies of an element."""
        write(self.pipeline.begin(row.iteration, slot, self.at(row, place)))

    def at(self, row: Row, place: Place) -> dict[Var, Expr]:
        """The index of an element."""
        return row.index | dict(zip(self.place, place, strict=True))

    @part
    def load(self, row: Row) -> None:
        """Wait for the stages of this row, not for those behind it."""
        cp_async_wait_group(self.pipeline.stages - self.pipeline.stages_per_row)

    @part
    def run_pass(self, number: int, element: Element) -> None:
        """`element` at every place of a pass, completely unrolled."""
        self.stages(0, self.pipeline.stages_per_row).each(element)

    def stages(self, start: int, stop: int) -> Distribution:
        """The places of some stages."""
        shape, iterations = self.shape, self.pipeline.stages_per_row
        extents, lanes = self.passes[0].extents, max(self.lanes)
        every = Distribution(
            extents, self.lane, shape.width, lanes, iterations, None, shape.threads
        )
        return replace(every, start=start, stop=None if stop == iterations else stop)
