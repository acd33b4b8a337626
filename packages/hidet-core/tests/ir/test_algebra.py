"""Simplified expressions have the same values, and are simple."""

import math
import time
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.ir.algebra import simplify_expression
from hidet.ir.bounds import Bounds, Range
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import (
    Cast,
    Const,
    FloorDiv,
    FloorMod,
    Maximum,
    Minimum,
    Negate,
    Not,
    TruncDiv,
    TruncMod,
    Var,
    constant,
    select,
    wrap,
)
from hidet.ir.walk import postorder
from hidet.types import f16, f32, i8, i32, i64, u8, u32

i, j, n, t = (Var(name, i32) for name in "ijnt")
x = Var("x", f32)
PLACE = Bounds({i: Range(0, 99), j: Range(0, 7), t: Range(0, 31), n: Range(1, None)})


@pytest.mark.parametrize(
    ("e", "simple"),
    [
        ((i * 8 + j) // 8, "i"),
        ((i * 8 + j) % 8, "j"),
        ((i * 32 + t) // 8, "((t // 8) + (i * 4))"),
        ((i * 32 + t) % 8, "(t % 8)"),
        ((i * 8 + j) // 16, "(i // 2)"),
        ((i * 8 + j) % 16, "(((i % 2) * 8) + j)"),
        ((t // 4) // 2, "(t // 8)"),
        ((t % 8) % 4, "(t % 4)"),
        ((t % 8) // 2, "((t // 2) % 4)"),
        (t // 4 * 4 + t % 4, "t"),
        (t // 16 * 16 + t // 4 % 4 * 4 + t % 4, "t"),
        (i - i + 3, "3"),
        ((i + 3) * 4 - i * 2, "((i * 2) + 12)"),
        ((i * 17 + j) % 16, "((i + j) % 16)"),
        ((i * 64 + t * 2) // 64, "i"),
        (n * 4 // 4, "n"),
        (i * n // n, "i"),
        ((i * n + 0) % n, "0"),
        ((n + 31) // 32 * 32, "(((n + 31) // 32) * 32)"),
        (t // 32, "0"),
        (t % 32, "t"),
        (i >> 2, "(i // 4)"),
        (i << 2, "(i * 4)"),
        (TruncDiv(t, wrap(8)), "(t // 8)"),
        (TruncMod(t, wrap(8)), "(t % 8)"),
        (Minimum(j, wrap(9)), "j"),
        (Minimum(j, wrap(3)), "min(j, 3)"),
        (Maximum(j, wrap(9)), "9"),
        (select(j < 8, i, t), "i"),
        (select(j < 4, i, i), "i"),
        (select(~(j < 4), i, t), "(i if (4 <= j) else t)"),
        (select(j < 4, select(j < 6, i, t), n), "(i if (j < 4) else n)"),
        ((j < n) & (j < 9), "(j < n)"),
        ((j < n) & (j < n), "(j < n)"),
        ((j < n) | (j < 9), "True"),
        (i * 4 < n * 4, "(i < n)"),
        (i + j < n + j, "(i < n)"),
        (i + 3 < n + 5, "(i < (n + 2))"),
        (Not(i < n), "(n <= i)"),
        (Not(i.eq(n)), "(i != n)"),
        (Cast(Cast(i, i64), i32), "i"),
        (Cast(i // 56, i64) * 56 + Cast(i % 56, i64), "i64(i)"),
        (Cast(i // 56, i64) * 112 + Cast(i % 56, i64) * 2 + n, "((i64(i) * 2:i64) + i64(n))"),
        (Var("u", u8) * 1 + 0, "u"),
        (Const(200, u8) + Const(100, u8), "44:u8"),
        (x * 1.0, "x"),
        (x / 1.0, "x"),
        (x - 0.0, "x"),
        (wrap(2.5) + 1.25, "3.75"),
        (Negate(wrap(0.0)), "-0.0"),
    ],
)
def test_simple_forms(e, simple):
    assert str(simplify_expression(e, PLACE)) == simple


def test_symbolic_rows_and_columns_come_apart():
    bounds = PLACE.assume(j < n)
    assert simplify_expression((i * n + j) // n, bounds) is i
    assert simplify_expression((i * n + j) % n, bounds) is j


@pytest.mark.parametrize(
    "e",
    [
        x + 0.0,  # -0.0 + 0.0 is 0.0
        x - (-0.0),
        x * 0.0,
        x - x,
        x / x,
        (x + 1.0) - 1.0,
        wrap(1.0) / 3.0 * x,
        Var("h", f16) + 0.0,
        i // 0,
        i % wrap(0),
    ],
)
def test_what_could_change_a_result_is_left(e):
    found = simplify_expression(e, PLACE)
    assert found is e or "0.3333" in str(found)  # folding 1/3 rounds as the machine does


def test_folding_rounds_as_the_type_does():
    e = constant(1 / 3, f16) * constant(1 / 3, f16)
    found = simplify_expression(e)
    assert isinstance(found, Const)
    assert found.value == evaluate(e)
    assert math.isnan(simplify_expression(Minimum(wrap(float("nan")), wrap(1.0))).value)


KINDS = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * 4 + b,
    lambda a, b: a * b,
    lambda a, b: FloorDiv(a, wrap(4)),
    lambda a, b: FloorMod(a, wrap(4)),
    lambda a, b: FloorDiv(a, wrap(8)) * 8 + FloorMod(a, wrap(8)),
    lambda a, b: FloorDiv(a, wrap(6)),
    lambda a, b: FloorMod(a, wrap(6)),
    lambda a, b: FloorMod(a, Maximum(b, wrap(1))),
    lambda a, b: FloorDiv(a, Maximum(b, wrap(1))),
    lambda a, b: TruncDiv(a, wrap(3)),
    lambda a, b: TruncMod(a, wrap(3)),
    Minimum,
    Maximum,
    lambda a, b: select(a < b, a * 2, b),
    lambda a, b: select((a <= b) & (b < 5), a, b),
    lambda a, b: select(~a.eq(b) | (a < 3), a, b % 4),
    lambda a, b: a << 1,
    lambda a, b: a >> 2,
    lambda a, b: Cast(Cast(a, i64) + b, i32),
    lambda a, b: Cast(Cast(a, i8), i32),
    lambda a, b: Cast(Cast(FloorDiv(a, wrap(4)), i64) * 4 + Cast(FloorMod(a, wrap(4)), i64), i32),
    lambda a, b: Cast(Cast(a // 4, u32) * 4 + Cast(a % 4, u32), i32),
    lambda a, b: Cast(Cast(a, u32) - 1, i32),
)
leaves = st.sampled_from([i, j, *map(wrap, (-3, 0, 1, 2, 4, 6, 8, 13))])
expressions = st.recursive(
    leaves, lambda e: st.builds(lambda k, a, b: k(a, b), st.sampled_from(KINDS), e, e), max_leaves=9
)
intervals = st.tuples(st.integers(-5, 5), st.integers(0, 9)).map(lambda p: (p[0], p[0] + p[1]))


@settings(max_examples=800)
@given(e=expressions, a=intervals, b=intervals)
def test_values_are_the_same(e, a, b):
    simple = simplify_expression(e, Bounds({i: Range(*a), j: Range(*b)}))
    for u, v in product(range(a[0], a[1] + 1), range(b[0], b[1] + 1)):
        world = {i: u, j: v}
        assert evaluate(simple, world) == evaluate(e, world), f"{e} became {simple} at {world}"


@settings(max_examples=200)
@given(e=expressions)
def test_simple_expressions_stay(e):
    bounds = Bounds({i: Range(0, 63), j: Range(0, 7)})
    once = simplify_expression(e, bounds)
    assert simplify_expression(once, bounds).type is once.type
    assert (
        sum(1 for _ in postorder(simplify_expression(once, bounds)))
        <= 2 * sum(1 for _ in postorder(e)) + 8
    )


def test_long_sums_are_fast():
    e, f = i, x
    for k in range(60):
        e = e + (i * k + t) // 8 % 16
    for k in range(2000):
        f = f * 2.0 + k
    start = time.process_time()
    assert simplify_expression(f, PLACE) is f
    simplify_expression(e, PLACE)
    assert time.process_time() - start < 1
