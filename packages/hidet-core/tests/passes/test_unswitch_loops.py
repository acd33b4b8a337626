"""Conditions that are the same in all iterations of a vector loop."""

from dataclasses import replace

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import And, Less, LessEqual, Load, Select, Var, constant, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Declare, For, If, LoopKind, Store
from hidet.ir.walk import find
from hidet.passes.loops.unswitch_loops import unswitch_loops
from hidet.types import f32, i32

X, Y, T = Var("x", f32[4, 8]), Var("y", f32[8]), Var("t", i32[1])
J, ROW = Var("j", i32), Var("row", i32)
WHICH = Load(T, (wrap(0),))


def number(value):
    return constant(value, i32)


def kernel(row, condition, *ahead):
    read = Select(condition, Load(X, (row, J)), constant(0.0, f32))
    loop = For(J, wrap(8), (*ahead, Store(Y, (J,), read)), LoopKind.VECTOR)
    return Kernel("k", (X, Y, T), (loop,), kind=KernelKind.CPU)


def inside(row):
    return And(LessEqual(number(0), row), Less(row, number(4)))


@pytest.mark.parametrize("which", [0, 3, 4, -1])
@pytest.mark.parametrize(
    "made", [kernel(WHICH, inside(WHICH)), kernel(ROW, inside(ROW), Declare(ROW, WHICH))]
)
def test_a_row_that_is_there_is_read_without_a_condition(made, which):
    after = unswitch_loops(made)
    assert list(find(after.body, If))
    assert not list(find(after.body, Select))
    given, found = np.arange(32, dtype=np.float32).reshape(4, 8), np.full(8, -1, np.float32)
    sim.launch(after, given, found, np.array([which], np.int32))
    wanted = given[which] if 0 <= which < 4 else np.zeros(8)
    np.testing.assert_array_equal(found, wanted)


def test_a_condition_on_the_iteration_stays():
    made = kernel(number(1), Less(J, number(5)))
    assert unswitch_loops(made).body == made.body


def test_what_another_condition_guards_is_not_read_ahead_of_it():
    at = Var("i", i32)
    which = Load(T, (at,))
    read = Select(inside(which), Load(X, (which, J)), constant(0.0, f32))
    guarded = If(Less(at, number(1)), (Store(Y, (J,), read),))
    loop = For(J, wrap(8), (guarded,), LoopKind.VECTOR)
    made = Kernel("k", (X, Y, T), (For(at, wrap(2), (loop,)),), kind=KernelKind.CPU)
    assert unswitch_loops(made).body == made.body


@pytest.mark.parametrize("length", [0, 1, 8])
def test_what_each_iteration_reads_at_the_place_of_a_loop_around_is_asked_once(length):
    at, n, places = Var("i", i32), Var("n", i32), Var("t", i32[3])
    which = Load(places, (at,))
    read = Select(inside(which), Load(X, (which, J)), constant(0.0, f32))
    results = Var("y", f32[3, 8])
    loop = For(J, n, (Store(results, (at, J), read),), LoopKind.VECTOR)
    made = Kernel("k", (X, results, places), (For(at, wrap(3), (loop,)),), kind=KernelKind.CPU)
    after = unswitch_loops(made)
    (choice,) = find(after.body, If)
    assert not list(find(choice.then, Select))
    given = np.arange(32, dtype=np.float32).reshape(4, 8)
    found = np.full((3, 8), -1, np.float32)
    sim.launch(after, given, found, np.array([2, -1, 4], np.int32), n=length)
    wanted = np.full((3, 8), -1, np.float32)
    wanted[:, :length] = np.stack([given[2], np.zeros(8), np.zeros(8)])[:, :length]
    np.testing.assert_array_equal(found, wanted)


def test_what_a_choice_reads_is_not_asked_ahead_of_it():
    at, places = Var("i", i32), Var("t", i32[1])
    which = Load(places, (at,))
    read = Select(inside(which), Load(X, (which, J)), constant(0.0, f32))
    value = Select(Less(at, number(1)), read, constant(0.0, f32))
    loop = For(J, wrap(8), (Store(Y, (J,), value),), LoopKind.VECTOR)
    made = Kernel("k", (X, Y, places), (For(at, wrap(2), (loop,)),), kind=KernelKind.CPU)
    (ahead,) = find(unswitch_loops(made).body, If)
    assert ahead.condition == Less(at, number(1))
    (left,) = find(ahead.then, Select)
    assert left.condition == inside(which)


@pytest.mark.parametrize("row", [-1, 0, 3, 4])
def test_what_is_computed_of_a_row_or_is_padding_has_no_condition(row):
    n = Var("n", i32)
    there = And(LessEqual(number(0), n), Less(n, number(4)))
    value = Select(there, Load(X, (n, J)) * constant(2.0, f32), constant(7.0, f32))
    made = Kernel("k", (X, Y), (For(J, wrap(8), (Store(Y, (J,), value),), LoopKind.VECTOR),))
    after = unswitch_loops(replace(made, kind=KernelKind.CPU))
    assert not list(find(after.body, Select))
    given, found = np.arange(32, dtype=np.float32).reshape(4, 8), np.zeros(8, np.float32)
    sim.launch(after, given, found, n=row)
    np.testing.assert_array_equal(found, 2 * given[row] if 0 <= row < 4 else np.full(8, 7.0))


@pytest.mark.parametrize("row", [0, 1, 2, 3])
def test_one_row_or_another_is_read_without_a_condition(row):
    n = Var("n", i32)
    value = Select(Less(n, number(2)), Load(X, (n, J)), Load(X, (n - 2, J)))
    made = Kernel("k", (X, Y), (For(J, wrap(8), (Store(Y, (J,), value),), LoopKind.VECTOR),))
    made = replace(made, kind=KernelKind.CPU)
    after = unswitch_loops(made)
    assert not list(find(after.body, Select))
    given, found = np.arange(32, dtype=np.float32).reshape(4, 8), np.full(8, -1, np.float32)
    sim.launch(after, given, found, n=row)
    np.testing.assert_array_equal(found, given[row % 2])


def test_of_two_conditions_one_is_left_to_the_loop():
    n = Var("n", i32)
    reads = [
        Select(LessEqual(n, number(last)), Load(X, (n - last + 1, J)), constant(0.0, f32))
        for last in (1, 2)
    ]
    loop = For(J, wrap(8), (Store(Y, (J,), reads[0] + reads[1]),), LoopKind.VECTOR)
    after = unswitch_loops(Kernel("k", (X, Y), (loop,), kind=KernelKind.CPU))
    (choice,) = find(after.body, If)
    assert not list(find(choice.then, Select))
    given, found = np.arange(32, dtype=np.float32).reshape(4, 8), np.full(8, -1, np.float32)
    sim.launch(after, given, found, n=2)
    np.testing.assert_array_equal(found, given[1])
