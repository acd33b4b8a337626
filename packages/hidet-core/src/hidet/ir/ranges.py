"""Sets of integers by their ends and what they leave when divided, and arithmetic on them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from hidet.types import DType

INFINITY = math.inf
cached = lru_cache(maxsize=1 << 14)
"""Programs ask for the same few sets again and again."""


class Range(NamedTuple):
    """The integers from `low` to `high` (None: no end) that leave `remainder` by `divisor`.

    `divisor` 0 says that there is one number only, `remainder`.
    """

    low: int | None = None
    high: int | None = None
    divisor: int = 1
    remainder: int = 0

    @property
    def least(self) -> float:
        """`low`, minus infinity for no end."""
        return -INFINITY if self.low is None else self.low

    @property
    def most(self) -> float:
        """`high`, infinity for no end."""
        return INFINITY if self.high is None else self.high

    @property
    def single(self) -> int | None:
        """The number, if there is only one."""
        return self.low if self.low is not None and self.low == self.high else None

    def divisible(self, by: int) -> bool:
        """Whether every number is a multiple of `by`."""
        return self.divisor % by == 0 and self.remainder % by == 0

    def within(self, low: int, high: int) -> bool:
        """Whether every number is at least `low` and at most `high`."""
        return low <= self.least and self.most <= high

    def __contains__(self, value: object) -> bool:
        assert isinstance(value, int)
        if not self.least <= value <= self.most:
            return False
        return value == self.remainder if not self.divisor else self.leaves(value)

    def leaves(self, value: int) -> bool:
        """Whether `value` leaves the remainder."""
        return (value - self.remainder) % self.divisor == 0


ANY = Range()


def exactly(value: int) -> Range:
    """The one number."""
    return Range(value, value, 0, value)


def span(low: float, high: float, divisor: int = 1, remainder: int = 0) -> Range:
    """The range of these ends, drawn in to the nearest numbers that leave the remainder."""
    if low == high and low not in (INFINITY, -INFINITY):
        return exactly(int(low))
    if divisor == 0:
        return exactly(remainder)
    remainder %= divisor
    first = None if low == -INFINITY else int(low) + (remainder - int(low)) % divisor
    last = None if high == INFINITY else int(high) - (int(high) - remainder) % divisor
    if first is not None and first == last:
        return exactly(first)
    return Range(first, last, divisor, remainder)


def limits(of: DType) -> Range:
    """What a value of type `of` may be; 32 and 64 bits signed have no ends, see `fit`."""
    if of.is_bool:
        return Range(0, 1)
    if not of.is_integer or unwrapped(of):
        return ANY
    low, high = of.limits
    return Range(int(low), int(high))


def unwrapped(of: DType) -> bool:
    """Whether arithmetic is taken not to overflow: on sizes and indices, as in C."""
    return of.is_integer and of.bits >= 32 and of.limits[0] < 0


def fit(result: Range, of: DType) -> Range:
    """`result` of arithmetic at type `of`: anything if a known end is outside of the type.

    Signed 32- and 64-bit numbers without a known end (sizes, block numbers) are taken to be small
    enough, as C takes them; all other integers wrap.
    """
    if of.is_bool:
        return result if result.within(0, 1) else Range(0, 1)
    low, high = of.limits
    if unwrapped(of):
        fine = (result.low is None or low <= result.low <= high) and (
            result.high is None or low <= result.high <= high
        )
        return result if fine else Range(int(low), int(high))
    return result if result.within(int(low), int(high)) else Range(int(low), int(high))


@cached
def both(a: Range, b: Range) -> Range:
    """Numbers in both ranges; where congruences differ, the stronger one is kept."""
    finer = a if a.divisor == 0 or (b.divisor != 0 and a.divisor >= b.divisor) else b
    low, high = max(a.least, b.least), min(a.most, b.most)
    if low > high:
        return a
    return span(low, high, finer.divisor, finer.remainder)


def either(a: Range, b: Range) -> Range:
    """Numbers in one range or the other."""
    divisor = math.gcd(a.divisor, b.divisor, a.remainder - b.remainder)
    return span(min(a.least, b.least), max(a.most, b.most), divisor, a.remainder)


@cached
def plus(a: Range, b: Range) -> Range:
    """Sums."""
    if a.divisor == 0 and b.divisor == 0:
        return exactly(a.remainder + b.remainder)
    divisor = math.gcd(a.divisor, b.divisor)
    return span(a.least + b.least, a.most + b.most, divisor, a.remainder + b.remainder)


def scaled(a: Range, factor: int) -> Range:
    """Multiples by one number."""
    return times(a, exactly(factor))


@cached
def times(a: Range, b: Range) -> Range:
    """Products."""
    if a.divisor == 0 and b.divisor == 0:
        return exactly(a.remainder * b.remainder)
    ends = [product(x, y) for x in (a.least, a.most) for y in (b.least, b.most)]
    divisor = math.gcd(a.divisor * b.divisor, a.divisor * b.remainder, b.divisor * a.remainder)
    return span(min(ends), max(ends), divisor, a.remainder * b.remainder)


def product(x: float, y: float) -> float:
    """x * y where infinity times zero is zero."""
    return 0 if x == 0 or y == 0 else x * y


@cached
def floor_quotient(a: Range, b: Range) -> Range:
    """Quotients rounded down; no divisor is zero."""
    by = b.single
    if by is not None and by < 0:
        return floor_quotient(scaled(a, -1), exactly(-by))
    if b.least < 0:
        return Range(0, None) if a.most <= 0 and b.most <= 0 else ANY
    small, large = max(b.least, 1), max(b.most, 1)
    low = floored(a.least, large if a.least >= 0 else small)
    high = floored(a.most, small if a.most >= 0 else large)
    if by and a.divisible(by):
        return span(low, high, a.divisor // by, a.remainder // by)
    return span(low, high)


def floored(x: float, by: float) -> float:
    """x // by, with infinities."""
    if x in (INFINITY, -INFINITY):
        return x
    if by == INFINITY:
        return 0 if x >= 0 else -1
    return int(x) // int(by)


@cached
def floor_remainder(a: Range, b: Range) -> Range:
    """Remainders with the sign of the divisor; no divisor is zero."""
    by = b.single
    if by is not None and by > 0:
        multiple = floored(a.least, by)
        if multiple == floored(a.most, by) and abs(multiple) != INFINITY:
            return plus(a, exactly(-int(multiple) * by))
        return span(0, by - 1, math.gcd(a.divisor, by), a.remainder)
    if b.least >= 0:
        return span(0, min(b.most - 1, a.most) if a.least >= 0 else b.most - 1)
    return span(min(b.least + 1, 0), max(b.most - 1, 0))


def truncated_quotient(a: Range, b: Range) -> Range:
    """Quotients rounded toward zero."""
    if a.least >= 0 and b.least >= 0:
        return floor_quotient(a, b)
    size = max(abs(a.least), abs(a.most))
    return span(-size, size)


def truncated_remainder(a: Range, b: Range) -> Range:
    """Remainders with the sign of the dividend."""
    if a.least >= 0 and b.least >= 0:
        return floor_remainder(a, b)
    size = max(abs(b.least), abs(b.most)) - 1
    low = 0 if a.least >= 0 else max(-size, a.least)
    return span(low, 0 if a.most <= 0 else min(size, a.most))


def smaller(a: Range, b: Range) -> Range:
    """Minima."""
    joint = either(a, b)
    return span(min(a.least, b.least), min(a.most, b.most), joint.divisor, joint.remainder)


def larger(a: Range, b: Range) -> Range:
    """Maxima."""
    joint = either(a, b)
    return span(max(a.least, b.least), max(a.most, b.most), joint.divisor, joint.remainder)


def masked(a: Range, b: Range) -> Range:
    """Bitwise and."""
    ends = [x.most for x in (a, b) if x.least >= 0]
    return span(0, min(ends)) if ends else ANY
