"""The kernel of a reduction of rows, whichever threads share a row and wherever it is resident.

`Rows` (`rows.py`) keeps in registers, or in shared memory, what its passes need again; those of
`shared_memory_rows.py` and `persistent_clusters.py` load rows through a pipeline.
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
        attr.cuda_min_blocks = work.min_blocks
        work.begin()
        for reduction in static(work.reductions):
            reduction.prepare()
        if shape.blocks > 1:
            cluster_sync()
        for iteration in range(work.iterations):
            if work.all_there or work.number(iteration) < work.rows:
                one_row(work, work.row(iteration))

    grid = (wrap(work.groups * shape.blocks), ONE, ONE)  # none where there are no rows
    launch = replace(rows.kernel.launch, grid=grid, max_blocks=work.most_blocks)
    early = tuple(each.tensor for each in work.resident.prefetched) if work.resident else ()
    return replace(rows.kernel, launch=launch, once=work.once(), early=early)


@part
def one_row(work: Rows, row: Row) -> None:
    """The threads of a row reduce their elements, combine the results, and write the elements."""
    work.arrive(row)
    for reduction in static(work.reductions):
        for number in static(reduction.numbers):
            total = reduction.start(number)
            work.run_pass(number, partial(work.take, number, row, total))
        reduction.finish(row.iteration)
    work.write(row)
