"""Definitions without reductions on CUDA: each thread writes a few neighbouring elements."""

from __future__ import annotations

from hidet.ir.expr import Expr, Value, Var, constant
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import For, LoopKind
from hidet.schedules.automatic.access import constant_size, reads, stride
from hidet.schedules.automatic.emit import ceil_div, product, put, unflatten
from hidet.schedules.automatic.grid import ACCESS_BYTES, BLOCK, THREAD, guarded, kernel
from hidet.schedules.automatic.plan import MapStage
from hidet.target import Target
from hidet.types import Size, i32

TURNS = 2
"""Accesses of 16 bytes that one thread has in flight on each operand."""
FULL = 16
"""Blocks for each multiprocessor from which on there are more than enough."""


def elementwise_kernel(
    stage: MapStage, name: str, params: tuple[Var, ...], target: Target
) -> Kernel:
    """Each thread writes `lanes` neighbouring elements, in a few places if there are many."""
    total = product(stage.shape)
    threads = 256
    lanes = vector_lanes(stage, total, target.sm_count * threads)
    work = total // lanes if lanes > 1 else total
    many = isinstance(work, int) and work >= FULL * target.sm_count * threads * TURNS
    turns = TURNS if many and lanes > 1 else 1
    turn, lane = Var("turn", i32), Var("v", i32)
    thread = (BLOCK * turns + turn) * threads + THREAD if turns > 1 else BLOCK * threads + THREAD
    index = unflatten(thread * lanes + lane if lanes > 1 else thread, stage.shape)
    if lanes > 1:
        index = vector_index(thread, lane, lanes, stage.shape)
    body = put(stage, dict(zip(stage.vars, index, strict=True)), {})
    if lanes > 1:
        body = (For(lane, constant(lanes, i32), body, LoopKind.VECTOR),)
    body = guarded(thread, work, threads, body)
    if turns > 1:
        body = (For(turn, constant(turns, i32), body, LoopKind.UNROLL),)
    return kernel(name, params, body, ceil_div(work, threads * turns), threads)


def vector_lanes(stage: MapStage, total: Value, enough: int) -> int:
    """How many neighbouring elements one thread takes: 16 bytes, if the innermost axis allows."""
    last = constant_size(stage.shape[-1]) if stage.shape else None
    if last is None or not isinstance(total, int):
        return 1
    widest = max([stage.out.dtype.nbytes, *(g.dtype.nbytes for g in reads_of(stage))])
    lanes = max(1, ACCESS_BYTES // widest)
    while lanes > 1 and (last % lanes or total // lanes < enough):
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
    *outer, chunk = unflatten(thread, (*shape[:-1], chunks))
    return (*outer, chunk * lanes + lane)
