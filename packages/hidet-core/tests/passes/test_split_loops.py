"""Vector loops over a border and what lies inside it."""

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import (
    Add,
    And,
    FloorDiv,
    FloorMod,
    Less,
    LessEqual,
    Load,
    Math,
    Maximum,
    Minimum,
    Mul,
    Select,
    Sub,
    Var,
    constant,
    wrap,
)
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Declare, For, LoopKind, Store
from hidet.ir.walk import find
from hidet.passes.loops.split_loops import MOST, split_loops
from hidet.passes.loops.thresholds import threshold
from hidet.types import boolean, f32, i32

X, Y = Var("x", f32[41]), Var("y", f32[41])
J, SHIFT, N = Var("j", i32), Var("shift", i32), Var("n", i32)


def number(value):
    return constant(value, i32)


def kernel(value, *ahead, extent=41, params=(X, Y)):
    loop = For(J, wrap(extent), (*ahead, Store(Y, (J,), value)), LoopKind.VECTOR)
    return Kernel("k", params, (loop,), kind=KernelKind.CPU)


def inside(at, size=41):
    return And(LessEqual(number(0), at), Less(at, wrap(size)))


def moved(by):
    at = Sub(J, number(by))
    return Select(inside(at), Load(X, (at,)), constant(0.0, f32))


def loops(made):
    return [(each.kind, each.extent.value) for each in find(made.body, For)]


def same_as_before(before, **sizes):
    """Launch both kernels; give the rewritten one."""
    after = split_loops(before)
    given = np.arange(1, 42, dtype=np.float32)
    found, wanted = np.full(41, -1, np.float32), np.full(41, -1, np.float32)
    sim.launch(after, given, found, **sizes)
    sim.launch(before, given, wanted, **sizes)
    np.testing.assert_array_equal(found, wanted)
    return after


def test_what_lies_inside_is_read_without_a_condition():
    after = same_as_before(kernel(moved(3)))
    assert not list(find(after.body, Select))
    assert loops(after) == [(LoopKind.VECTOR, 3), (LoopKind.VECTOR, 38)]


def test_a_condition_that_has_a_name():
    there = Var("there", boolean)
    at = Sub(J, number(5))
    value = Select(there, Load(X, (at,)), constant(0.0, f32))
    after = same_as_before(kernel(value, Declare(there, inside(at))))
    assert not list(find(after.body, Select))


def test_neighbours_of_several_tensors_are_several_loops():
    third = Select(Less(J, number(30)), Load(X, (Sub(J, number(9)),)), constant(7.0, f32))
    first = Select(Less(J, number(10)), Load(X, (J,)), third)
    after = same_as_before(kernel(first))
    assert not list(find(after.body, Select))
    assert [count for _, count in loops(after)] == [10, 20, 11]


def test_a_window_has_a_narrow_border_that_is_no_vector():
    after = same_as_before(kernel(Add(Add(moved(2), moved(-1)), moved(-3))))
    vectors = [loop for loop in find(after.body, For) if loop.kind is LoopKind.VECTOR]
    (inner,) = (each for each in vectors if each.extent.value > 16)
    assert inner.extent.value == 36
    assert not list(find(inner.body, Select))


@pytest.mark.parametrize("size", [0, 1, 2, 7, 17, 41])
def test_borders_that_are_known_at_run_time_only(size):
    at = Sub(J, N)
    value = Select(inside(at), Load(X, (at,)), constant(0.0, f32))
    after = same_as_before(kernel(value, params=(X, Y)), n=size)
    assert not list(find(after.body, Select))


@pytest.mark.parametrize("step", [-3, -1, 2, 5])
def test_steps(step):
    at = Add(Mul(J, number(step)), number(11))
    value = Select(inside(at), Load(X, (at,)), constant(0.0, f32))
    assert not list(find(same_as_before(kernel(value)).body, Select))


@pytest.mark.parametrize(
    "made",
    [
        kernel(moved(3), extent=16),  # one vector: a mask
        kernel(Select(Less(J, number(9)), constant(1.0, f32), constant(0.0, f32))),  # no read
        kernel(Select(Less(J % number(5), number(2)), Load(X, (J,)), constant(0.0, f32))),
        kernel(sum((moved(2 * n + 1) for n in range(1, MOST + 1)), moved(1))),  # too many
    ],
)
def test_other_loops_stay(made):
    assert split_loops(made).body == made.body


@pytest.mark.parametrize("limit", [-7, 0, 1, 5, 12])
@pytest.mark.parametrize("step", [-3, -1, 1, 4])
@pytest.mark.parametrize("kind", [Less, LessEqual])
@pytest.mark.parametrize("over", [1, 3])
def test_where_a_condition_changes(kind, step, limit, over):
    at = Add(Mul(J, number(step)), number(2))
    quotient = at if over == 1 else FloorDiv(at, number(over))
    pair = (quotient, number(limit)) if kind is Less else (number(limit), quotient)
    found = threshold(kind(*pair), J)
    for iteration in range(-20, 20):
        value = (iteration * step + 2) // over
        holds = value < limit if kind is Less else limit <= value
        assert holds == (
            (iteration >= found.limit.value) if found.begins else iteration < found.limit.value
        )


def held(at, how):
    """A place that a read of 41 elements keeps within them."""
    last = number(40)
    if how == "replicate":
        return Minimum(Maximum(at, number(0)), last)
    if how == "circular":
        return Select(inside(at), at, FloorMod(at, number(41)))
    return Sub(last, Math("abs", (Sub(last, Math("abs", (at,), i32)),), i32))


@pytest.mark.parametrize("how", ["replicate", "reflect", "circular"])
@pytest.mark.parametrize("by", [-5, 0, 3])
def test_places_within_bounds_are_plain_inside(how, by):
    value = Load(X, (held(Sub(J, number(by)), how),))
    after = same_as_before(kernel(value, extent=41))
    reads = [each.index[0] for each in find(after.body, Load)]
    assert any(not find_all(each, (Minimum, Maximum, Math, FloorMod)) for each in reads)
    assert max(count for _, count in loops(after)) == 41 - abs(by)


def find_all(e, kinds):
    return [each for kind in kinds for each in find([e], kind)]


def test_places_that_data_tell_stay():
    places = Var("places", i32[41])
    value = Load(X, (Minimum(Load(places, (J,)), number(40)),))
    before = kernel(value, params=(X, Y, places))
    assert split_loops(before) == before
