"""Reductions over lanes of a warp whose results end in few lanes each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import add
from typing import Any

from hidet.ir.expr import Expr, Value, constant, convert
from hidet.lang import Registers, part, select, static, unroll
from hidet.lang.cuda import shfl_xor_sync, threadIdx
from hidet.types import i32

ALL = 0xFFFFFFFF


def exchanged(value: Expr, distance: int) -> Expr:
    """The value that the lane has whose number differs in a bit: shuffles move 16 bits or more."""
    wide = i32 if value.dtype.bits < 16 else value.dtype
    return convert(shfl_xor_sync(ALL, convert(value, wide), distance), value.dtype)


@dataclass(frozen=True)
class LaneReduction:
    """`count` values of each lane, combined by `join` over the lanes that differ in the bits of
    `distances`.

    While the number of values is even, each of two lanes sends one half and combines the other,
    which takes half as many shuffles as if both combined all of them.
    """

    count: int
    distances: tuple[int, ...]
    join: Callable[[Any, Any], Any] = add

    @cached_property
    def steps(self) -> list[tuple[int, int, bool]]:
        """Distance, values of a lane afterwards, and whether the other half is elsewhere then."""
        remaining, found = self.count, []
        for distance in self.distances:
            halved = remaining % 2 == 0
            remaining = remaining // 2 if halved else remaining
            found.append((distance, remaining, halved))
        return found

    @property
    def held(self) -> int:
        """Values that a lane has in the end."""
        return self.steps[-1][1] if self.steps else self.count

    def first(self, lane: Expr) -> Value:
        """The number of the first value that a lane has in the end; the others follow."""
        halves = [lane // at % 2 * remaining for at, remaining, halved in self.steps if halved]
        return sum(halves, start=constant(0, i32))

    def alone(self, lane: Expr) -> Value:
        """Whether a lane is the first of those that have the same values in the end."""
        same = sum(distance for distance, _, halved in self.steps if not halved)
        return (lane & same).eq(0) if same else True

    @part
    def reduce(self, values: Registers) -> None:
        """Combine the values of the lanes, of which the first `held` are complete then."""
        for distance, remaining, halved in static(self.steps):
            upper = threadIdx.x // distance % 2 == 1
            for s in unroll(remaining):
                if halved:
                    sent = select(upper, values[s], values[remaining + s])
                    own = select(upper, values[remaining + s], values[s])
                    values[s] = self.join(own, exchanged(sent, distance))
                else:
                    values[s] = self.join(values[s], exchanged(values[s], distance))
