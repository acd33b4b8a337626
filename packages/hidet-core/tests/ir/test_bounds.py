"""What is known of integers: sound, and strong enough for guards and vectors."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.ir.bounds import Bounds, Range, known, range_of
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import (
    Builtin,
    Cast,
    FloorDiv,
    FloorMod,
    Load,
    Maximum,
    Minimum,
    TruncDiv,
    TruncMod,
    Var,
    select,
    wrap,
)
from hidet.types import boolean, i8, i32, i64, u8

i, j, n, t = (Var(name, i32) for name in "ijnt")
KINDS = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    Minimum,
    Maximum,
    lambda a, b: FloorDiv(a, Maximum(b, wrap(1))),
    lambda a, b: FloorMod(a, Maximum(b, wrap(1))),
    lambda a, b: TruncDiv(a, wrap(3)),
    lambda a, b: TruncMod(a, wrap(4)),
    lambda a, b: FloorMod(a, wrap(4)),
    lambda a, b: FloorDiv(a, wrap(4)),
    lambda a, b: select(a < b, a, b),
    lambda a, b: a & 7,
    lambda a, b: a << 2,
    lambda a, b: a >> 1,
    lambda a, b: Cast(Cast(a, i8), i32),
    lambda a, b: Cast(Cast(a, i64) * 2, i32),
    lambda a, b: -a,
)
leaves = st.sampled_from([i, j, *map(wrap, (-2, 0, 1, 3, 4, 8))])
expressions = st.recursive(
    leaves, lambda e: st.builds(lambda k, a, b: k(a, b), st.sampled_from(KINDS), e, e), max_leaves=8
)
intervals = st.tuples(st.integers(-6, 6), st.integers(0, 7)).map(lambda p: (p[0], p[0] + p[1]))


def worlds(a, b):
    return [{i: x, j: y} for x, y in product(range(a[0], a[1] + 1), range(b[0], b[1] + 1))]


@settings(max_examples=400)
@given(e=expressions, a=intervals, b=intervals)
def test_ranges_contain_every_value(e, a, b):
    found = range_of(e, {i: Range(*a), j: Range(*b)})
    for world in worlds(a, b):
        assert evaluate(e, world) in found


@settings(max_examples=400)
@given(left=expressions, right=expressions, fact=expressions, a=intervals, b=intervals)
def test_answers_hold_in_every_world_where_the_assumption_does(left, right, fact, a, b):
    assumed = fact < right
    bounds = Bounds({i: Range(*a), j: Range(*b)}).assume(assumed)
    for condition in (left < right, left <= right, left.eq(right), left.ne(fact)):
        answer = bounds.known(condition)
        if answer is not None:
            for world in worlds(a, b):
                if evaluate(assumed, world):
                    assert evaluate(condition, world) is answer


@pytest.mark.parametrize(
    ("e", "found"),
    [
        (i * 4 + 2, Range(2, 38, 4, 2)),
        (i - i, Range(0, 0, 0, 0)),
        (i * 4 - i * 2, Range(0, 18, 2, 0)),
        (i % 4, Range(0, 3)),
        ((i * 8) // 4, Range(0, 18, 2, 0)),
        (i * n, Range(0, None)),
        (Load(Var("x", u8[4]), (i,)), Range(0, 255)),
        (Builtin("threadIdx.x"), Range(0, None)),
        (Cast(i < 3, i32), Range(0, 1)),
    ],
)
def test_ranges(e, found):
    assert range_of(e, {i: Range(0, 9), n: Range(0, None)}) == found


def test_known_without_facts():
    assert known(i < 10, {i: Range(0, 9)}) is True
    assert known(i < 0, {i: Range(0, 9)}) is False
    assert known(i < 5, {i: Range(0, 9)}) is None
    assert known((i * 2).eq(3), {i: Range(0, 9)}) is False
    assert known((i < 10) & (i >= 0), {i: Range(0, 9)}) is True
    assert known(~(i < 10), {i: Range(0, 9)}) is False


def test_a_guard_proves_what_is_smaller():
    bounds = Bounds({t: Range(0, 31), i: Range(0, None)}).assume(i * 32 + t < n)
    assert bounds.known(i * 32 + t < n) is True
    assert bounds.known(i * 32 < n) is True
    assert bounds.known(t < n) is True
    assert bounds.known(i * 32 + t < n + 1) is True
    assert bounds.known(i * 32 + t + 1 < n) is None
    assert bounds.range(n).low == 1


def test_a_guard_of_multiples_covers_the_whole_vector():
    bounds = Bounds({n: Range(0, None, 4, 0), i: Range(0, None)}).assume(i * 4 < n)
    assert bounds.known(i * 4 + 3 < n) is True
    assert bounds.known(i * 4 + 4 < n) is None


def test_a_part_of_a_whole_number_of_parts():
    """What a loop over all rows of n images knows of the image, whatever n is."""
    bounds = Bounds({n: Range(1, None)}).count(i, n * 66)
    assert bounds.known(i // 66 < n) is True
    assert bounds.known(i // 66 + 1 <= n) is True
    assert bounds.known(i // 66 < n - 1) is None
    assert bounds.known(i // 65 < n) is None
    assert bounds.known(n <= i // 66) is False
    from_there = Bounds().assume(n * 8 <= i)
    assert from_there.known(n <= i // 8) is True
    assert from_there.known(n < i // 8) is None


def test_two_facts_together():
    bounds = Bounds().assume(i < j).assume(j < n)
    assert bounds.known(i + 2 <= n) is True


def test_facts_need_what_does_not_change():
    mutable = Bounds(mutable=frozenset({i}))
    assert mutable.assume(i < 5).known(i < 5) is None
    load = Load(Var("x", i32[4]), (j,))
    assert Bounds().assume(load < 5).known(load < 5) is None


def test_definitions_are_looked_through():
    bounds = Bounds({t: Range(0, 7)}).define(i, t * 4 + 1)
    assert bounds.known(i < 30) is True
    assert bounds.range(i) == Range(1, 29, 4, 1)
    assert bounds.known((i - t * 4).eq(1)) is True


def test_loops_count_up():
    bounds = Bounds().count(i, n)
    assert bounds.known(i < n) is True
    assert bounds.known(wrap(0) <= i) is True
    assert Bounds().count(i, wrap(8)).range(i) == Range(0, 7)


def test_conditions_that_are_not_about_integers():
    p = Var("p", boolean)
    assert Bounds().assume(p).known(p) is True
    assert Bounds().assume(~p).known(p) is False
    assert Bounds().assume(p | (i < 3), False).known(i < 3) is False


def test_widening_is_looked_through():
    assert Bounds({i: Range(0, 9)}).known(Cast(i, i64) * 4 < Cast(wrap(37), i64)) is True
