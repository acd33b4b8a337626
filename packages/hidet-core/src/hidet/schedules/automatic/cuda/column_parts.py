"""What threads found of the same columns, put together: in a warp, a block, and a cluster."""

from __future__ import annotations

from collections.abc import Callable

from hidet.compute import Reduce
from hidet.ir.expr import Address, Expr, Load, Select, Var, constant, convert
from hidet.ir.stmt import Assign, Body, Declare, Invoke, Stmt, Store
from hidet.schedules.automatic.cuda.grid import THREAD
from hidet.schedules.automatic.cuda.merge import EVERY_LANE
from hidet.schedules.automatic.emit import joined, unrolled
from hidet.schedules.automatic.plan import shape_of
from hidet.target import WARP
from hidet.types import i32, u32


def in_warp(reduce: Reduce, partial: Var, across: int) -> tuple[Body, Expr, int]:
    """Combine what the lanes of a warp have that share columns, `across` lanes apart; then each has
    the results of so many of its columns, from one on.

    Two lanes tell each other half of their columns, and each goes on with the half that it was told
    of; where there is one column left they tell each other that.
    """
    (count,) = shape_of(partial)
    first: Expr = constant(0, i32)
    assert isinstance(count, int)
    body: list[Stmt] = []
    step = across
    while step < WARP:
        upper = THREAD // step % 2
        body += told_half(reduce, partial, step, count, upper)
        first, count = (first + upper * (count // 2), count // 2) if count > 1 else (first, count)
        step *= 2
    return tuple(body), first, count


def told_half(reduce: Reduce, partial: Var, step: int, count: int, upper: Expr) -> Body:
    """Lanes `step` apart tell each other of `count` columns what they do not go on with: the first
    half if they are the `upper` one of the two."""
    dtype, lane = partial.dtype, Var("v", i32)
    wide = i32 if dtype.bits < 16 else dtype  # shuffles move 16 bits or more
    far, half = Var(f"far_{partial.name}", wide), count // 2
    low, high = Load(partial, (lane,)), Load(partial, (lane + half,))
    own = Select(upper.eq(1), high, low) if half else low
    other = Select(upper.eq(1), low, high) if half else low
    operands = EVERY_LANE, convert(other, wide), constant(step, i32)
    each: Body = (
        Declare(far, constant(0, wide)),
        Invoke("shfl_xor_sync", operands, (far,)),
        Store(partial, (lane,), joined(reduce.how, own, convert(far, dtype))),
    )
    return unrolled(lane, max(half, 1), each)


def total_of(reduce: Reduce, parts: Var, use: Callable[[Var], Body]) -> Body:
    """`use` of what the parts of this thread's column come to, in their order."""
    turn, total = Var("w", i32), Var(f"total_{parts.name}", reduce.value.dtype)
    count = shape_of(parts)[0]
    assert isinstance(count, int)
    part = convert(Load(parts, (turn, THREAD)), total.dtype)
    add = Assign(total, joined(reduce.how, total, part))
    return (Declare(total, reduce.identity), *unrolled(turn, count, (add,)), *use(total))


def store(done: Var, total: Var) -> Body:
    """Keep the result of this thread's column."""
    return (Store(done, (THREAD,), total),)


def tell_blocks(told: Var, rank: Expr, part: Var, bar: Expr, listeners: int) -> Body:
    """Write this block's part of a column into the shared memory of the cluster's first blocks."""
    other, here = Var("other", i32), Address(told, (rank, THREAD))
    operands = here, convert(part, told.dtype), bar, convert(other, u32)
    return unrolled(other, listeners, (Invoke("store_to_block", operands),))
