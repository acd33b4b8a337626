"""Definitions with reductions on CUDA.

The threads are split into groups of `width` that share a row: a whole block, a warp, or a single
thread. A row is an index of the output axes that the reductions depend on; the group first computes
the row's reductions together, each once, then writes the row's elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from hidet.ir.expr import Const, Expr, Load, Var, constant, convert, wrap
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Assign, Body, Declare, For, If, Invoke, LoopKind, Stmt, Store
from hidet.ir.walk import substitute
from hidet.schedules.automatic.access import constant_size, contiguous, mostly_contiguous, reads
from hidet.schedules.automatic.emit import (
    Accumulator,
    AnyReduce,
    ceil_div,
    flat,
    free,
    product,
    put,
    replaced,
    unflatten,
    unrolled,
    with_serial_reductions,
)
from hidet.schedules.automatic.grid import ACCESS_BYTES, BLOCK, THREAD, WARP, guarded, kernel
from hidet.schedules.automatic.plan import MapStage
from hidet.types import Scope, Size, TensorType, i32, u32


@dataclass(frozen=True)
class Shape:
    """How a stage's work is spread: `width` threads share a row, `rows` rows share a block."""

    row_vars: tuple[Var, ...]
    inner_vars: tuple[Var, ...]
    width: int
    rows: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.width * self.rows


def choose_shape(stage: MapStage, reduces: list[AnyReduce]) -> Shape:
    """How many threads share a row."""
    needed = set().union(*(free(each) for each in reduces))
    real = [v for v, n in zip(stage.vars, stage.shape, strict=True) if n != 1]
    row_vars = tuple(var for var in stage.vars if var in needed or var not in real)
    inner_vars = tuple(var for var in stage.vars if var not in row_vars)
    sizes = dict(zip(stage.vars, stage.shape, strict=True))
    rows = known_product([sizes[var] for var in row_vars])
    deep = max(known_product(each.extents) for each in reduces)
    along = any(mostly_contiguous(each.value, each.vars[-1]) for each in reduces)
    inner = known_product([sizes[var] for var in inner_vars])
    if not inner_vars and rows >= 4096 and (deep < 16 or not along):
        return Shape(row_vars, inner_vars, 1, 128)
    if (max(deep, inner) <= 1024 and rows >= 1024) or deep <= 64:
        return Shape(row_vars, inner_vars, WARP, 4)
    width = 1024 if max(deep, inner) >= 16384 and rows < 512 else 256
    return Shape(row_vars, inner_vars, width, 1)


def known_product(sizes: tuple[Size, ...] | list[Size]) -> int:
    """The product of sizes, those unknown until run time taken as 256."""
    return prod(n if (n := constant_size(size)) is not None else 256 for size in sizes)


def rows_kernel(
    stage: MapStage, name: str, params: tuple[Var, ...], shape: Shape, reduces: list[AnyReduce]
) -> Kernel:
    """Groups of threads each compute the reductions of a row, then write its elements."""
    sizes = dict(zip(stage.vars, stage.shape, strict=True))
    row_sizes = [sizes[var] for var in shape.row_vars]
    rows = product(row_sizes)
    row: Expr = BLOCK
    lane: Expr = THREAD
    if shape.rows > 1:
        row = BLOCK * shape.rows + THREAD // shape.width
        lane = THREAD % shape.width
    index = dict(zip(shape.row_vars, unflatten(row, row_sizes), strict=True))
    known: dict[Expr, Expr] = {}
    body: list[Stmt] = []
    for position, reduce in enumerate(reduces):
        steps, result = group_reduce(reduce, shape, lane, index, known, position)
        body += steps
        known[reduce] = result
    body += write_row(stage, shape, lane, index, known)
    guarded_body = guarded(row, rows, shape.rows, tuple(body))
    return kernel(name, params, guarded_body, ceil_div(rows, shape.rows), shape.threads)


WRITTEN_OUT = 4
"""Turns that are written out, so that the loads of all of them are in flight together."""
EVERY_LANE = Const(0xFFFFFFFF, u32)
Element = Callable[[tuple[Expr, ...]], Body]


def write_row(
    stage: MapStage, shape: Shape, lane: Expr, index: dict[Var, Expr], known: dict[Expr, Expr]
) -> Body:
    """The row's elements, spread over its threads."""
    if not shape.inner_vars:
        body = put(stage, index, known)
        return body if shape.width == 1 else (If(lane.eq(0), body),)
    sizes = dict(zip(stage.vars, stage.shape, strict=True))
    inner = tuple(sizes[var] for var in shape.inner_vars)
    last = shape.inner_vars[-1]
    lanes = group_lanes(inner, stage.out.dtype.nbytes, last is stage.vars[-1])

    def element(place: tuple[Expr, ...]) -> Body:
        return put(stage, index | dict(zip(shape.inner_vars, place, strict=True)), known)

    return spread(inner, lane, shape.width, lanes, element)


def group_reduce(
    reduce: AnyReduce,
    shape: Shape,
    lane: Expr,
    index: dict[Var, Expr],
    known: dict[Expr, Expr],
    position: int,
) -> tuple[Body, Expr]:
    """One reduction by a group of threads; afterwards every one of them knows the result."""
    value = substitute(replaced(reduce.value, known), index)
    accumulator = Accumulator(reduce, str(position))

    def element(place: tuple[Expr, ...]) -> Body:
        here = substitute(value, dict(zip(reduce.vars, place, strict=True)))
        before, result = with_serial_reductions(here, {})
        return before + accumulator.take(result, flat(place, reduce.extents))

    along = contiguous(reduce.value, reduce.vars[-1])
    widest = max((read.tensor.dtype.nbytes for read in reads(reduce.value)), default=ACCESS_BYTES)
    lanes = group_lanes(reduce.extents, widest, along) if shape.width > 1 else 1
    body = accumulator.start() + spread(reduce.extents, lane, shape.width, lanes, element)
    if shape.width > 1:
        body += across_warp(accumulator)
    if shape.width > WARP:
        body += across_block(accumulator, shape.width // WARP, position)
    return body, accumulator.result


def group_lanes(extents: tuple[Size, ...], nbytes: int, neighbours: bool) -> int:
    """How many neighbouring elements a thread takes at once."""
    last = constant_size(extents[-1])
    lanes = ACCESS_BYTES // max(nbytes, 2) if neighbours and last is not None else 1
    while lanes > 1 and (last is None or last % lanes):
        lanes //= 2
    return max(lanes, 1)


def spread(extents: tuple[Size, ...], lane: Expr, width: int, lanes: int, element: Element) -> Body:
    """`element(index)` for every index below `extents`, spread over `width` threads."""
    chunked = (*extents[:-1], extents[-1] // lanes) if lanes > 1 else extents
    chunks = product(chunked)
    turn = Var("turn", i32)
    chunk = turn * width + lane if width > 1 else turn
    place = unflatten(chunk, chunked)
    if lanes > 1:
        part = Var("v", i32)
        whole = (*place[:-1], place[-1] * lanes + part)
        body: Body = (For(part, constant(lanes, i32), element(whole), LoopKind.VECTOR),)
    else:
        body = element(place)
    body = guarded(chunk, chunks, width, body)
    turns = ceil_div(chunks, width)
    kind = LoopKind.UNROLL if isinstance(turns, int) and turns <= WRITTEN_OUT else LoopKind.SERIAL
    return (For(turn, wrap(turns), body, kind),)


def across_warp(accumulator: Accumulator) -> Body:
    """Merge the accumulators of a warp's lanes."""
    body: list[Stmt] = []
    for distance in (16, 8, 4, 2, 1):
        others = []
        for var in accumulator.variables:
            wide = i32 if var.dtype.bits < 16 else var.dtype  # shuffles move 16 bits or more
            other = Var(f"{var.name}_far", wide)
            body.append(Declare(other, constant(0, wide)))
            operands = EVERY_LANE, convert(var, wide), constant(distance, i32)
            body.append(Invoke("shfl_xor_sync", operands, (other,)))
            others.append(convert(other, var.dtype))
        body += accumulator.merge(others)
    return tuple(body)


def across_block(accumulator: Accumulator, warps: int, position: int) -> Body:
    """Merge the accumulators of a block's warps through shared memory; all threads read them."""
    kept = [
        Var(f"shared{position}_{var.name}", TensorType(var.dtype, (warps,), Scope.SHARED))
        for var in accumulator.variables
    ]
    warp = THREAD // WARP
    write = tuple(
        Store(shared, (warp,), var) for shared, var in zip(kept, accumulator.variables, strict=True)
    )
    turn = Var("w", i32)
    merge = accumulator.merge([Load(shared, (turn,)) for shared in kept])
    restart = tuple(
        Assign(declared.var, declared.init)
        for declared in accumulator.start()
        if isinstance(declared, Declare) and declared.init is not None
    )
    return (
        *(Declare(shared) for shared in kept),
        If((THREAD % WARP).eq(0), write),
        Invoke("syncthreads"),
        *restart,
        *unrolled(turn, warps, merge),
    )
