"""Sums that lanes of a warp have parts of, added up so that each sum ends in few lanes."""

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
class LaneSums:
    """`count` sums of each lane, added up over the lanes that differ in the bits of `distances`;
    or what is combined by `join`.

    While a number of sums is even, two lanes meet halfway: each gives one half away and adds up
    the other, which takes half as many shuffles as if both added up all of them.
    """

    count: int
    distances: tuple[int, ...]
    join: Callable[[Any, Any], Any] = add

    @cached_property
    def steps(self) -> list[tuple[int, int, bool]]:
        """Distance, sums that a lane has afterwards, and whether the others are elsewhere then."""
        left, found = self.count, []
        for distance in self.distances:
            halved = left % 2 == 0
            left = left // 2 if halved else left
            found.append((distance, left, halved))
        return found

    @property
    def held(self) -> int:
        """Sums that a lane has in the end."""
        return self.steps[-1][1] if self.steps else self.count

    def first(self, lane: Expr) -> Value:
        """The number of the first sum that a lane has in the end; the others follow."""
        halves = [lane // at % 2 * left for at, left, halved in self.steps if halved]
        return sum(halves, start=constant(0, i32))

    def alone(self, lane: Expr) -> Value:
        """Whether a lane is the first of those that have the same sums in the end."""
        alike = sum(distance for distance, _, halved in self.steps if not halved)
        return (lane & alike).eq(0) if alike else True

    @part
    def add(self, sums: Registers) -> None:
        """Lanes add up their sums, of which the first `held` are whole then."""
        for distance, left, halved in static(self.steps):
            upper = threadIdx.x // distance % 2 == 1
            for s in unroll(left):
                if halved:
                    given = select(upper, sums[s], sums[left + s])
                    kept = select(upper, sums[left + s], sums[s])
                    sums[s] = self.join(kept, exchanged(given, distance))
                else:
                    sums[s] = self.join(sums[s], exchanged(sums[s], distance))
