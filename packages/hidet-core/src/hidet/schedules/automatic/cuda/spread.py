"""Every index of a row, spread over the threads that share it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Expr, Value, Var, constant, wrap
from hidet.ir.stmt import Body, For, If, LoopKind
from hidet.schedules.automatic.cuda.grid import THREAD
from hidet.schedules.automatic.cuda.kept import Kept
from hidet.schedules.automatic.emit import ceil_div
from hidet.types import Scope, Size, i32

Element = Callable[[tuple[Expr, ...], Expr, Kept | None], Body]
WRITTEN_OUT = 4
"""Turns that are written out, so that the loads of all of them are in flight together."""


@dataclass(frozen=True)
class Spread:
    """Every index below `extents`, `lanes` neighbours at once, over `width` threads in turns.

    `lane` is the number of a thread among those.

    Up to `most` turns are written out, of more a few; turns before `start` and from `stop` on are
    left out.
    """

    extents: tuple[Size, ...]
    lane: Expr
    width: int
    lanes: int
    most: int
    kept: Kept | None
    threads: int
    """Those of the block, which may have several rows."""
    start: int = 0
    stop: int | None = None

    def body(self, element: Element) -> Body:
        """`element(index, slot, kept)` for all of them; `slot` is the element's place in `kept`."""
        lanes, width = self.lanes, self.width
        chunked = (*self.extents[:-1], self.extents[-1] // lanes) if lanes > 1 else self.extents
        chunks = product(chunked) if self.stop is None else self.stop * width
        turns = ceil_div(chunks, width) - self.start
        all_out = turns if isinstance(turns, int) and turns <= self.most else None
        together = WRITTEN_OUT if all_out is None else all_out
        outer, turn, part = Var("turn", i32), Var("part", i32), Var("v", i32)
        step = turn if all_out is not None else outer * together + turn
        number = step + self.start
        shared = self.kept is not None and self.kept.scope is Scope.SHARED
        slot = step * self.threads + THREAD if shared else step
        chunk = number * width + self.lane if width > 1 else number
        place = unravel(chunk, chunked)
        if lanes > 1:
            whole = (*place[:-1], place[-1] * lanes + part)
            inner = element(whole, slot * lanes + part, self.kept)
            body: Body = (For(part, constant(lanes, i32), inner, LoopKind.VECTOR),)
        else:
            body = element(place, slot, self.kept)
        left = chunks - self.start * width
        body = body if whole_turns(left, width * together) else (If(chunk < chunks, body),)
        body = (For(turn, wrap(together), body, LoopKind.UNROLL),)
        if all_out is not None:
            return body
        return (For(outer, wrap(ceil_div(turns, together)), body),)


def whole_turns(count: Value, each: int) -> bool:
    """Whether `count` is known to be a multiple of `each`."""
    return isinstance(count, int) and (count == 0 or (each > 0 and count % each == 0))
