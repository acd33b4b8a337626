"""The kernel of a reduction of rows, whoever shares a row and wherever it stays.

`Rows` (`rows.py`) keeps of a row in registers, or in shared memory, what its walks need again;
those of `stream.py` and `turns.py` bring rows through a ring.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from hidet.ir.expr import Var, wrap
from hidet.ir.kernel import ONE, Kernel
from hidet.lang import attr, meta, part, script, static
from hidet.lang.cuda import cluster_sync
from hidet.schedules.automatic.cuda.rows import Row, Rows


def row_kernel(work: Rows, name: str, params: tuple[Var, ...]) -> Kernel:
    """The kernel that does what is planned."""
    shape = work.shape

    @script(operands=meta.types(params))
    def rows(operands: Any) -> None:
        attr.func_name = name
        attr.cuda_block_dim = shape.threads
        attr.cuda_cluster_dim = shape.blocks
        attr.cuda_min_blocks = work.resident
        work.begin()
        for meeting in static(work.meetings):
            meeting.prepare()
        if shape.blocks > 1:
            cluster_sync()
        for again in range(work.taken):
            if work.all_there or work.number(again) < work.rows:
                one_row(work, work.row(again))

    grid = (wrap(work.groups * shape.blocks), ONE, ONE)  # none where there are no rows
    launch = replace(rows.kernel.launch, grid=grid, max_blocks=work.most_blocks)
    early = tuple(each.tensor for each in work.kept.ahead) if work.kept else ()
    return replace(rows.kernel, launch=launch, once=work.once(), early=early)


@part
def one_row(work: Rows, row: Row) -> None:
    """The threads of a row reduce what each has of it, meet, and write the row's elements."""
    work.arrive(row)
    for meeting in static(work.meetings):
        for number in static(meeting.numbers):
            total = meeting.start(number)
            work.walk(number, partial(work.take, number, row, total))
        meeting.finish(row.again)
    work.write(row)
