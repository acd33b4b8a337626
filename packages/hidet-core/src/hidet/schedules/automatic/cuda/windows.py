"""Small windows along rows on CUDA, as of pools: each thread computes neighbours of a row.

What the windows of these neighbours share is read once, in accesses as wide as it is aligned, and
kept in registers; a window's other axes are gone through one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product as combinations
from math import prod

from hidet.compute import Reduce
from hidet.compute.sizes import product
from hidet.ir.expr import Const, Expr, Get, Load, Var, constant
from hidet.ir.kernel import Kernel
from hidet.ir.linear import Terms
from hidet.ir.stmt import Declare, Stmt, Store
from hidet.ir.walk import replaced, substitute, variables
from hidet.schedules.accesses import WindowRow
from hidet.schedules.automatic.access import constant_size, reads, whole_lanes
from hidet.schedules.automatic.cuda.elementwise import vector_index
from hidet.schedules.automatic.cuda.grid import BLOCK, THREAD, guarded, kernel
from hidet.schedules.automatic.emit import AnyReduce, ceil_div, joined, put, unrolled, vectorized
from hidet.schedules.automatic.plan import MapStage, reductions, shape_of
from hidet.target import ACCESS_BYTES, Target
from hidet.types import Scope, TensorType, i32

THREADS = 256
LARGEST = 64
"""Elements of a window that are written out at most, and elements of a row that a thread keeps."""


@dataclass(frozen=True)
class Row(WindowRow):
    """What windows read of a row of an operand, by the elements of `read`."""

    read: Get

    @property
    def widest(self) -> int:
        """Elements of the widest access that is all inside the row or outside."""
        nbytes = max(2, self.read.dtype.nbytes)
        return whole_lanes(ACCESS_BYTES // nbytes, shape_of(self.read.tensor)[-1])


@dataclass(frozen=True)
class Windows:
    """A stage's reductions with the rows that each reads, for `lanes` neighbours of a thread."""

    lanes: int
    rows: dict[Reduce, list[Row]]


def choose_windows(stage: MapStage, reduces: list[AnyReduce], target: Target) -> Windows | None:
    """The windows, if neighbouring outputs read neighbouring ones and there are enough of them."""
    rows: dict[Reduce, list[Row]] = {}
    total = product(stage.shape)
    if not isinstance(total, int) or not stage.shape:
        return None
    for reduce in reduces:
        found = rows_of(reduce, stage.vars[-1])
        if found is None or not isinstance(reduce, Reduce):
            return None
        rows[reduce] = found
    each = [row for found in rows.values() for row in found]
    widest = max(row.stride * row.read.dtype.nbytes for row in each)
    lanes = ACCESS_BYTES // max(widest, stage.out.dtype.nbytes)
    lanes = whole_lanes(1 << max(0, lanes.bit_length() - 1), stage.shape[-1])
    while lanes > 1 and total // lanes < target.cores * THREADS:
        lanes //= 2
    if lanes == 1 or max(row.reach(lanes) for row in each) > LARGEST:
        return None
    return Windows(lanes, rows)


def rows_of(reduce: AnyReduce, last: Var) -> list[Row] | None:
    """What a small reduction reads along `last`, if it is windows and nothing else."""
    extents = [constant_size(size) or LARGEST + 1 for size in reduce.extents]
    if (
        not isinstance(reduce, Reduce)
        or prod(extents) > LARGEST
        or any(True for _ in reductions(reduce.value))
    ):
        return None
    found = []
    for read in reads(reduce.value):
        if last in variables(read.index):
            row = row_of(read, last, reduce.vars[-1], extents[-1])
            if row is None:
                return None
            found.append(row)
    return found or None


def row_of(read: Get, last: Var, along: Var, extent: int) -> Row | None:
    """An operand's element whose place in its row, and nothing else, is a sum of products of
    `last` and `along`."""
    *outer, column = read.index
    form = dict(Terms().form(column))
    first, step, dilation = form.pop((), 0), form.pop((last,), 0), form.pop((along,), 0)
    if form or step < 1 or dilation < 0 or {last, along} & set(variables(outer)):
        return None
    return Row(first, step, dilation, extent, read)


def windows_kernel(stage: MapStage, name: str, params: tuple[Var, ...], windows: Windows) -> Kernel:
    """Each thread computes `lanes` neighbours: their reductions, then their elements."""
    lanes, lane = windows.lanes, Var("v", i32)
    thread = BLOCK * THREADS + THREAD
    count = int(product(stage.shape)) // lanes  # type: ignore[arg-type]
    here = dict(zip(stage.vars, vector_index(thread, lane, lanes, stage.shape), strict=True))
    body: list[Stmt] = []
    known: dict[Expr, Expr] = {}
    for number, (reduce, rows) in enumerate(windows.rows.items()):
        of = TensorType(reduce.value.dtype, (lanes,), Scope.REGISTER)
        partial = Var(f"partial{number}", of)
        known[reduce] = Load(partial, (lane,))
        body.append(Declare(partial, reduce.identity))
        for place in combinations(*(range(constant_size(n) or 0) for n in reduce.extents[:-1])):
            outer = {v: Const(n, i32) for v, n in zip(reduce.vars, place, strict=False)}
            body += one_row(reduce, rows, partial, outer, here, lane, stage.vars[-1])
    body += vectorized(lane, lanes, put(stage, here, known))
    whole = guarded(thread, count, THREADS, tuple(body))
    return kernel(name, params, whole, ceil_div(count, THREADS), THREADS)


def one_row(
    reduce: Reduce,
    rows: Sequence[Row],
    partial: Var,
    outer: dict[Var, Const],
    here: dict[Var, Expr],
    lane: Var,
    last: Var,
) -> Iterator[Stmt]:
    """Add what the windows have in one row: at one place of all axes but the last."""
    along, zero = Var("along", i32), constant(0, i32)
    of_lane = {**here, **outer, reduce.vars[-1]: along}
    prefetched = {**of_lane, last: substitute(here[last], {lane: zero}), reduce.vars[-1]: zero}
    lanes = partial.of.shape[0]  # type: ignore[union-attr]
    assert isinstance(lanes, int)
    loaded: dict[Expr, Expr] = {}
    for row in rows:
        of = TensorType(row.read.dtype, (row.reach(lanes),), Scope.REGISTER)
        own = Var(f"{row.read.tensor.name}_row", of)
        loaded[row.read] = Load(own, (lane * row.stride + along * row.dilation,))
        yield Declare(own)
        start = tuple(substitute(e, prefetched) for e in row.read.index)
        for at, width in row.accesses(lanes, row.widest):
            v = Var("v", i32)
            beyond = at - row.first + v
            read = Get(row.read.tensor, (*start[:-1], start[-1] + beyond))
            yield from vectorized(v, width, (Store(own, (beyond,), read),))
    value = substitute(replaced(reduce.value, loaded), of_lane)
    take = Store(partial, (lane,), joined(reduce.how, Load(partial, (lane,)), value))
    yield from unrolled(along, rows[0].window, unrolled(lane, lanes, (take,)))
