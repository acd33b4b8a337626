"""The kernel of a stage's reductions, of rows or of columns.

A plan (`Reduction`) says which threads share a reduction (`row_shape.py`, `column_shape.py`), where
elements are resident between passes (`rows.py`, `pipelined_rows.py`) and how the threads combine
their partial results (`reduce_across.py`, `cross_warp_reduction.py`, `column_reduction.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hidet.ir.expr import Expr, Value, Var, wrap
from hidet.ir.kernel import ONE, Kernel, PdlTrigger
from hidet.lang import Int, attr, meta, part, script, static
from hidet.lang.cuda import cluster_sync
from hidet.schedules.automatic.access import read_once
from hidet.schedules.automatic.cuda.column_shape import ColumnShape
from hidet.schedules.automatic.cuda.distribution import Element, Visit
from hidet.schedules.automatic.cuda.reduce_across import Across
from hidet.schedules.automatic.cuda.row_shape import RowShape
from hidet.schedules.automatic.emit import AnyReduce
from hidet.types import Size


@dataclass(frozen=True)
class Row:
    """A row of a block, or its columns: how many it has had before, and the index in results."""

    iteration: Value
    index: dict[Var, Expr]


class Reduction(ABC):
    """The plan of a kernel: passes over rows, one for each reduction and one to write."""

    shape: RowShape | ColumnShape
    reduces: Sequence[AnyReduce]
    sizes: dict[Var, Size]
    """Of the stage's variables."""
    inner: Sequence[Size]
    """Sizes of the axes along which a row has elements to write."""
    reductions: Sequence[Across]
    """How the threads of a row reduce, in groups that finish together."""
    clusters: Size
    """Clusters of `shape.blocks` blocks."""
    iterations: Int = 1
    """Rows that a cluster takes one after the other."""
    min_blocks = max_blocks = 0
    """Blocks that a multiprocessor should hold, at least and at most; 0: as many as fit."""
    pdl_trigger = PdlTrigger.READ

    def once(self) -> tuple[Var, ...]:
        """The tensors of which nothing is needed again, in a kernel that writes little: where as
        much is written as is read, this hinders (H200: 3 % more time)."""
        reduce = self.reduces[0]
        if len(self.reduces) > 1 or self.inner:
            return ()
        sizes = self.sizes | dict(zip(reduce.vars, reduce.extents, strict=True))
        return read_once(reduce.value, [var for var, size in sizes.items() if size != 1])

    def early(self) -> tuple[Var, ...]:
        """The tensors whose loads may not move behind barriers."""
        return ()

    def has_row(self, iteration: Value) -> Expr | bool:
        """Whether there is a row in an iteration."""
        return True

    @abstractmethod
    def row(self, iteration: Value) -> Row:
        """The row of an iteration."""

    @abstractmethod
    def begin(self) -> None:
        """A part of kernels: declare what is resident, start the first copies."""

    @part
    def join_cluster(self) -> None:
        """Let no block send to a block that has not begun."""
        cluster_sync()

    @abstractmethod
    def load(self, row: Row) -> None:
        """A part of kernels: load a row, if its first pass does not."""

    @abstractmethod
    def run_pass(self, number: int, visit: Visit) -> None:
        """A part of kernels: `visit` every element of a pass, distributed over threads."""

    @abstractmethod
    def take(self, number: int, row: Row, into: Any, element: Element) -> None:
        """Accumulate an element of pass `number`."""

    @abstractmethod
    def write(self, row: Row) -> None:
        """A part of kernels: write the elements of a row."""


def reduction_kernel(work: Reduction, name: str, params: tuple[Var, ...]) -> Kernel:
    """The kernel of a plan."""

    @script(operands=meta.types(params))
    def reduction(operands: Any) -> None:
        attr.func_name = name
        attr.cuda_block_dim = work.shape.threads
        attr.cuda_cluster_dim = work.shape.blocks
        attr.cuda_min_blocks = work.min_blocks
        work.begin()
        for each in static(work.reductions):
            each.prepare()
        if work.shape.blocks > 1:
            work.join_cluster()
        for iteration in range(work.iterations):
            if work.has_row(iteration):
                one_row(work, work.row(iteration))

    grid = (wrap(work.clusters * work.shape.blocks), ONE, ONE)  # none where there are no rows
    launch = replace(
        reduction.kernel.launch, grid=grid, max_blocks=work.max_blocks, pdl_trigger=work.pdl_trigger
    )
    return replace(reduction.kernel, launch=launch, once=work.once(), early=work.early())


@part
def one_row(work: Reduction, row: Row) -> None:
    """The threads of a row reduce their elements, combine the results, and write the elements."""
    work.load(row)
    for each in static(work.reductions):
        for number in static(each.numbers):
            into = each.start(number)
            work.run_pass(number, partial(work.take, number, row, into))
        each.finish(row.iteration)
    work.write(row)
