"""Definitions without reductions on CUDA: each thread writes a few neighbouring elements."""

from __future__ import annotations

from math import prod

from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Expr, Math, Value, Var, wrap
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Body, If
from hidet.ir.walk import find
from hidet.schedules.automatic.access import constant_size, reads, stride, whole_lanes
from hidet.schedules.automatic.cuda.grid import BLOCK, THREAD, guarded, kernel
from hidet.schedules.automatic.emit import ceil_div, put, unrolled, vectorized
from hidet.schedules.automatic.plan import MapStage
from hidet.target import ACCESS_BYTES, Target
from hidet.types import Size, i32

ELEMENTS = 8
"""Elements that one thread writes at least where there are many and each takes time."""
FULL = 16
"""Blocks for each multiprocessor from which on there are more than enough."""
SLOW = 1
"""Functions from which on an element takes time."""
THREADS = 256


def elementwise_kernel(
    stage: MapStage, name: str, params: tuple[Var, ...], target: Target
) -> Kernel:
    """Each thread writes `lanes` neighbouring elements, at a few places if there are many."""
    total = product(stage.shape)
    enough = target.cores * THREADS
    vector, flat = vector_lanes(stage, total, enough), flat_lanes(stage, total, enough)
    lanes, in_rows = max(vector, flat), vector >= flat and vector > 1
    index = vector_index if in_rows else flat_index
    work = total // lanes if lanes > 1 else total
    rest = total % lanes if isinstance(total, int) else 0
    most = max(2, ELEMENTS // lanes) if in_rows and not streams(stage) else 1
    iterations = most if isinstance(work, int) and work >= FULL * enough * most else 1

    def elements(number: Expr, lane: Var, count: int) -> Body:
        here = dict(zip(stage.vars, index(number, lane, lanes, stage.shape), strict=True))
        return vectorized(lane, count, put(stage, here, {}))

    iteration, lane = Var("iteration", i32), Var("v", i32)
    number = (BLOCK * iterations + iteration) * THREADS + THREAD
    body = elements(number, lane, lanes)
    if rest:
        last = elements(wrap(work), Var("v", i32), rest)
        body = (If(number < work, body, (If(number.eq(work), last),)),)
    else:
        body = guarded(number, work, THREADS, body)
    body = unrolled(iteration, iterations, body)
    blocks = ceil_div(work + 1 if rest else work, THREADS * iterations)
    return kernel(name, params, body, blocks, THREADS)


def streams(stage: MapStage) -> bool:
    """Whether a thread does little more than move neighbours: one access at a time is enough."""
    values = [stage.value, *(value for _, value in stage.also)]
    steps = [stride(read, stage.vars[-1]) for value in values for read in reads(value)]
    return all(step in (0, 1) for step in steps) and len(list(find(values, Math))) < SLOW


def vector_lanes(stage: MapStage, total: Value, enough: int) -> int:
    """How many neighbouring elements one thread takes: 16 bytes, if the innermost axis allows."""
    return whole_lanes(most_lanes(stage, total, enough), stage.shape[-1]) if stage.shape else 1


def flat_lanes(stage: MapStage, total: Value, enough: int) -> int:
    """The same where rows may begin anywhere; 1 if elements are no neighbours across rows."""
    shape = [constant_size(size) for size in stage.shape]
    for read in reads(stage.value):
        straight = read.index == stage.vars and read.tensor.of.shape == stage.out.of.shape  # type: ignore[union-attr]
        size = constant_size(product(read.tensor.of.shape))  # type: ignore[union-attr]
        if not straight and (size is None or size * ELEMENTS > prod(n or 0 for n in shape)):
            return 1
    lanes = most_lanes(stage, total, enough)
    several = sum(size != 1 for size in shape) > 1
    while lanes > 1 and several and int(total) % lanes:  # type: ignore[arg-type]
        lanes //= 2  # the end of the last row would be asked for in each lane
    return lanes


def most_lanes(stage: MapStage, total: Value, enough: int) -> int:
    """How many elements are 16 bytes, or fewer if there is not enough work for all threads."""
    if not isinstance(total, int):
        return 1
    widest = max([stage.out.dtype.nbytes, *(g.dtype.nbytes for g in reads_of(stage))])
    lanes = max(1, ACCESS_BYTES // widest)
    while lanes > 1 and total // lanes < enough:
        lanes //= 2
    return lanes


def reads_of(stage: MapStage) -> list[Var]:
    """The tensors whose elements are neighbours where the output's are."""
    return [
        read.tensor
        for read in reads(stage.value)
        if stage.vars and stride(read, stage.vars[-1]) == 1
    ]


def vector_index(thread: Expr, lane: Var, lanes: int, shape: tuple[Size, ...]) -> tuple[Expr, ...]:
    """The index of lane `lane` of chunk number `thread`; the last axis holds whole chunks."""
    chunks = shape[-1] // lanes
    *outer, chunk = unravel(thread, (*shape[:-1], chunks))
    return (*outer, chunk * lanes + lane)


def flat_index(number: Expr, lane: Var, lanes: int, shape: tuple[Size, ...]) -> tuple[Expr, ...]:
    """The same where elements are counted through all rows, which are no whole chunks."""
    return unravel(number * lanes + lane, shape)
