"""Sums about a centre, and how those of parts become that of all."""

import math

import numpy as np
import pytest

from hidet.compute import Input
from hidet.compute.functions import exp
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Math, Var, constant
from hidet.schedules.automatic.pivot import Powers, Squares, pivot_of
from hidet.schedules.automatic.plan import plan, reductions
from hidet.types import f32

TOTAL, A, B, COUNT = (Var(name, f32) for name in ("total", "a", "b", "count"))


def found(function, *shape):
    """The pivot of the last reduction of a definition."""
    x = Input("x", f32[shape or (4, 32)])
    (stage,) = plan([x], [function(x)]).stages
    return pivot_of(list(reductions(stage.value))[-1])


def variance(x, axes=(1,)):
    centred = x - x.mean(axes)
    return (centred * centred).sum(axes)


def powers(x):
    return exp(x - x.max((1,))).sum((1,))


def test_powers_below_the_greatest():
    assert isinstance(found(powers), Powers)
    assert isinstance(found(lambda x: powers(x * 2.0)), Powers)


def test_squares_about_the_mean():
    assert isinstance(found(variance), Squares)
    assert isinstance(found(lambda x: variance(x, (1, 2)), 4, 3, 5), Squares)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: exp(x - x.min((1,))).sum((1,)),
        lambda x: exp(x - x.max((1,))).max((1,)),
        lambda x: exp(x - (x * 2.0).max((1,))).sum((1,)),
        lambda x: exp(x - x.max((0, 1))).sum((1,)),
        lambda x: ((x - x.sum((1,))) * (x - x.sum((1,)))).sum((1,)),
        lambda x: ((x - x.sum((1,)) / 31.0) * (x - x.sum((1,)) / 31.0)).sum((1,)),
        lambda x: ((x - x.mean((1,))) * x).sum((1,)),
        lambda x: ((x - x.mean((1,))) * (x - x.mean((1,)))).max((1,)),
        lambda x: x.sum((1,)),
    ],
)
def test_others(function):
    assert found(function) is None


def merged(pivot, first, parts):
    """The sum of all `parts` from those about their own centres."""
    values = np.concatenate(parts).astype(np.float64)
    centre = own(pivot, first(values), len(values))
    total = 0.0
    for part in parts:
        a = own(pivot, first(part), len(part))
        seen = evaluate(pivot.usable(A), {A: a})
        sum_ = sum(term(pivot, x, seen) for x in part)
        moved = pivot.moved(TOTAL, A, B, COUNT)
        total += evaluate(moved, {TOTAL: sum_, A: a, B: centre, COUNT: len(part)})
    return total


def own(pivot, found, count):
    return evaluate(pivot.own(A, COUNT), {A: found, COUNT: count})


def term(pivot, x, centre):
    return math.exp(x - centre) if isinstance(pivot, Powers) else (x - centre) ** 2


PARTS = [np.array(part, np.float32) for part in ([0.5, 3, -2], [7], [-1, 1, 1, 30], [4] * 5)]


def test_parts_of_squares():
    values = np.concatenate(PARTS).astype(np.float64)
    total = merged(found(variance), np.sum, PARTS)
    assert total == pytest.approx(((values - values.mean()) ** 2).sum(), rel=1e-6)


def test_parts_of_powers():
    values = np.concatenate(PARTS).astype(np.float64)
    total = merged(found(powers), np.max, PARTS)
    assert total == pytest.approx(np.exp(values - values.max()).sum(), rel=1e-6)


def test_parts_of_nothing_but_minus_infinity():
    nothing = np.full(3, -np.inf, np.float32)
    total = merged(found(powers), np.max, [*PARTS, nothing])
    assert total == pytest.approx(merged(found(powers), np.max, PARTS))


def test_a_part_of_no_values():
    pivot = found(variance)
    assert own(pivot, 0.0, 0) == 0
    moved = pivot.moved(constant(0, f32), constant(0, f32), B, constant(0, f32))
    assert evaluate(moved, {B: 3.0}) == 0


def test_one_power_moves_to_another_centre():
    each = found(powers).each(TOTAL, A, B)
    value = evaluate(each, {TOTAL: math.exp(0.5 - 2.0), A: 2.0, B: 3.0})
    assert value == pytest.approx(math.exp(0.5 - 3.0), rel=1e-6)
    nothing = evaluate(each, {TOTAL: 0.0, A: -math.inf, B: 3.0})
    assert nothing == 0


def test_one_square_does_not():
    assert found(variance).each(TOTAL, A, B) is None


def test_a_rough_power():
    x = Var("x", f32)
    rough = found(powers).rough(Math("exp", (x,), f32))
    assert evaluate(rough, {x: -7.25}) == pytest.approx(math.exp(-7.25), rel=2**-16)
    assert found(variance).rough(x) is x
