"""What TMA does: boxes move as asynchronous operations. PTX ISA, "Tensors"."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hidet.intrinsics.boxes import PIECE, Span, filled, period, scattered, units
from hidet.intrinsics.context import Array, Context
from hidet.intrinsics.tensor_maps.operands import map_of, offsets_of
from hidet.ir.expr import Expr
from hidet.ir.stmt import Invoke
from hidet.types import DType
from hidet.types.tensor_map import OFFSETS

SHARED_ALIGNMENT = 128
"""Bytes of which the address of a box in shared memory is a multiple."""


def loaded(context: Context, invoke: Invoke) -> None:
    """Start a load for each thread: into several blocks, it is one operation for each of them."""
    of = map_of(invoke, 1)
    target, _, barrier, *rest = invoke.args
    at = Positions(context, invoke.args[1], tuple(rest[: of.rank + offsets_of(of)]))
    masks = context.value(rest[-1]) if invoke.options[0] else None
    plain = np.arange(0, of.nbytes, PIECE)
    addresses = context.shared_address(target, period(of))
    for thread in map(int, np.flatnonzero(context.mask)):
        span = at.span(thread)
        place = context.locate(target, thread, SHARED_ALIGNMENT)
        there = scattered(of, int(addresses[thread]), plain)
        for block in [None] if masks is None else chosen(context, int(masks[thread]), thread):
            agent = context.launch_agent([thread], "TMA load", block=block)
            box = filled(of)
            if span.rows.size:
                first, width = span.first * of.dtype.nbytes, span.columns * of.dtype.nbytes
                inside = agent.read(at.boxes.memory, span.starts, width)
                box[span.rows, first : first + width] = inside
            agent.write(place, there, box.reshape(-1, PIECE))
            agent.finish_at_barrier(context.locate(barrier, thread), of.nbytes)


def chosen(context: Context, mask: int, thread: int) -> list[int]:
    """The blocks of the cluster whose bits are set."""
    size = context.cluster_size()
    if mask >> size or not mask:
        context.fault(f"the mask of blocks is {mask:#x}; the cluster has {size} of them", thread)
    return [block for block in range(size) if mask >> block & 1]


def stored(context: Context, invoke: Invoke) -> None:
    """Start a store or a reduction for each thread."""
    of = map_of(invoke, 0)
    how = invoke.options[0] if invoke.name == "tma_reduce" else None
    at = Positions(context, invoke.args[0], invoke.args[2:])
    addresses = context.shared_address(invoke.args[1], period(of))
    for thread in map(int, np.flatnonzero(context.mask)):
        span = at.span(thread)
        if min(at.position(thread)) < 0:
            context.fault(
                f"a store begins at {at.position(thread)}: TMA stores nothing below 0", thread
            )
        agent = context.launch_agent([thread], "TMA store", "bulk")
        place = context.locate(invoke.args[1], thread, SHARED_ALIGNMENT)
        if span.rows.size:
            plain, width = units(of, span)
            data = agent.read(place, scattered(of, int(addresses[thread]), plain), width)
            data = data.reshape(len(span.rows), -1)
            if how is None:
                agent.write(at.boxes.memory, span.starts, data)
            else:
                agent.update(at.boxes.memory, span.starts, data, combine(of.dtype, how))
        agent.finish_in_group()


def prefetched(context: Context, invoke: Invoke) -> None:
    """Nothing happens, but positions must be possible."""
    at = Positions(context, invoke.args[0], invoke.args[1:])
    for thread in np.flatnonzero(context.mask):
        at.span(int(thread))


class Positions:
    """Where the threads of a call have their boxes."""

    def __init__(self, context: Context, map: Expr, numbers: tuple[Expr, ...]) -> None:
        self.context = context
        self.boxes = context.tensor_map(map)
        self.numbers = [context.value(each) for each in numbers]

    def position(self, thread: int) -> tuple[int, ...]:
        """Where a thread's box begins."""
        return tuple(int(each[thread]) for each in self.numbers[: self.boxes.of.rank])

    def span(self, thread: int) -> Span:
        """The part of a thread's box that is inside of the tensor."""
        rank = self.boxes.of.rank
        found = tuple(int(each[thread]) for each in self.numbers)
        limit = OFFSETS.get(rank, 0)
        if not all(0 <= offset <= limit for offset in found[rank:]):
            self.context.fault(f"offsets are from 0 to {limit}, not {found[rank:]}", thread)
        begin = found[rank - 1] * self.boxes.of.dtype.nbytes
        if begin % PIECE:
            self.context.misaligned(
                f"a box begins at byte {begin} of a row; TMA takes multiples of {PIECE}", thread
            )
        try:
            return self.boxes.span(found[:rank], found[rank:])
        except ValueError as error:
            self.context.fault(str(error), thread)


def combine(of: DType, how: str) -> Callable[[Array, Array], Array]:
    """What becomes of bytes in memory when others are combined with them."""
    apply = COMBINED[how]

    def run(old: Array, new: Array) -> Array:
        values = np.ascontiguousarray(old).view(of.numpy), np.ascontiguousarray(new).view(of.numpy)
        return np.asarray(apply(*values)).astype(of.numpy).view(np.uint8)

    return run


COMBINED: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "min": np.fmin, "max": np.fmax,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
