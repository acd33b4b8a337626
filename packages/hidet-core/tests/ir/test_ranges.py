"""Arithmetic on ranges contains the arithmetic on their members."""

import math
import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.ir import ranges
from hidet.ir.ranges import ANY, Range, both, either, exactly, fit, limits, span
from hidet.types import boolean, i8, i32, u8

small = st.integers(-12, 12)


@st.composite
def members(draw):
    """A finite range with some of its numbers."""
    low, high = sorted((draw(small), draw(small)))
    divisor = draw(st.integers(1, 5))
    remainder = draw(st.integers(0, 4))
    found = [v for v in range(low, high + 1) if (v - remainder) % divisor == 0]
    if not found:
        return exactly(low), [low]
    if draw(st.booleans()):
        return Range(None, high, divisor, remainder % divisor), found
    return span(low, high, divisor, remainder), found


OPERATIONS = {
    ranges.plus: operator.add,
    ranges.times: operator.mul,
    ranges.floor_quotient: operator.floordiv,
    ranges.floor_remainder: operator.mod,
    ranges.truncated_quotient: lambda a, b: int(a / b),
    ranges.truncated_remainder: lambda a, b: int(math.fmod(a, b)),
    ranges.smaller: min,
    ranges.larger: max,
    ranges.masked: operator.and_,
}


@pytest.mark.parametrize("combine", list(OPERATIONS), ids=lambda f: f.__name__)
@settings(max_examples=300)
@given(a=members(), b=members())
def test_the_result_contains_every_result(combine, a, b):
    (left, lefts), (right, rights) = a, b
    whole = combine(left, right)
    divides = "quotient" in combine.__name__ or "remainder" in combine.__name__
    for x in lefts:
        for y in rights:
            if y or not divides:
                assert OPERATIONS[combine](x, y) in whole


@settings(max_examples=300)
@given(a=members(), b=members())
def test_meets_and_joins(a, b):
    (left, lefts), (right, rights) = a, b
    assert all(v in either(left, right) for v in (*lefts, *rights))
    assert all(v in both(left, right) for v in lefts if v in rights)


def test_ends_are_drawn_in_to_what_leaves_the_remainder():
    assert span(1, 10, 4) == Range(4, 8, 4, 0)
    assert span(5, 10, 4) == exactly(8)
    assert Range(0, 12, 4, 0).divisible(2)
    assert not Range(0, 12, 4, 2).divisible(4)


def test_types_bound_what_they_hold():
    assert limits(u8) == Range(0, 255)
    assert limits(boolean) == Range(0, 1)
    assert limits(i32) == ANY
    assert fit(Range(0, 300), i8) == Range(-128, 127)
    assert fit(Range(0, 2**31), i32) == Range(-(2**31), 2**31 - 1)
    assert fit(Range(0, None), i32) == Range(0, None)
