"""Reads of elements apart lose their condition, neighbours keep it."""

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import (
    And,
    Const,
    FloorDiv,
    FloorMod,
    LessEqual,
    Load,
    Select,
    Var,
    constant,
    wrap,
)
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Declare, For, LoopKind, Store
from hidet.ir.walk import find
from hidet.passes.addresses.read_anyway import read_anyway
from hidet.types import boolean, f32, i32

x, y = Var("x", f32[5, 7]), Var("y", f32[40])
j, at = Var("j", i32), Var("at", i32)
ZERO = Const(0.0, f32)


def number(of):
    return constant(of, i32)


def kernel(row, column, condition, *ahead, kind=LoopKind.VECTOR):
    put = Store(y, (j,), Select(condition, Load(x, (row, column)), ZERO))
    return Kernel("k", (x, y), (For(j, wrap(35), (*ahead, put), kind),), kind=KernelKind.CPU)


def inside(low, index, high):
    return And(LessEqual(number(low), index), LessEqual(index, number(high)))


NAMED = Declare(at, j * 2 - 3)
READ = Declare(at, Load(x, (number(0), FloorMod(j, number(7)))).cast(i32))
APART = {
    "every other": kernel(number(2), j * 2 - 3, inside(2, j, 4)),
    "every other, named": kernel(number(2), at, inside(0, at, 6), NAMED),
    "where memory says, named": kernel(number(2), at, inside(0, at, 6), READ),
    "one": kernel(number(2), number(3), inside(3, j, 9)),
    "downwards": kernel(j - 1, number(3), inside(1, j, 5)),
}
TOGETHER = {
    "neighbours": kernel(number(2), j - 3, inside(3, j, 9)),
    "all of them": kernel(FloorDiv(j, number(7)), FloorMod(j, number(7)), inside(3, j, 9)),
    "in no vector": kernel(number(2), j * 2 - 3, inside(2, j, 4), kind=LoopKind.SERIAL),
}


def result(made):
    given = np.arange(35, dtype=np.float32).reshape(5, 7)
    found = np.full(40, -1, np.float32)
    sim.launch(made, given, found)
    return found


@pytest.mark.parametrize("name", APART)
def test_elements_apart_are_read_whether_or_not(name):
    before = APART[name]
    after = read_anyway(before)
    assert not any(isinstance(each.then, Load) for each in find(after.body, Select))
    np.testing.assert_array_equal(result(after), result(before))


@pytest.mark.parametrize("name", TOGETHER)
def test_others_are_read_as_before(name):
    assert read_anyway(TOGETHER[name]) == TOGETHER[name]


def product(condition, *ahead):
    """Twice what every other column holds, where a condition lets it."""
    value = Load(x, (number(2), at)) * 2.0
    put = Store(y, (j,), Select(condition, value, ZERO))
    made = For(j, wrap(35), (NAMED, *ahead, put), LoopKind.VECTOR)
    return Kernel("k", (x, y), (made,), kind=KernelKind.CPU)


def test_what_is_made_of_an_element_keeps_its_condition():
    before = product(inside(0, at, 6))
    after = read_anyway(before)
    (choice,) = find(after.body, Select)
    assert not any(find([choice.then], Load))
    assert choice.condition == inside(0, at, 6)
    np.testing.assert_array_equal(result(after), result(before))


def test_many_conditions_are_masks():
    before = product(And(inside(0, at, 6), inside(3, j, 20)))
    after = read_anyway(before)
    assert not any(find(after.body, And))
    np.testing.assert_array_equal(result(after), result(before))


def test_one_element_is_read_whichever_side_it_is_on():
    slope = Load(x, (number(3), number(4)))
    value = Select(inside(3, j, 9), j.cast(f32), slope * j.cast(f32))
    made = For(j, wrap(35), (Store(y, (j,), value),), LoopKind.VECTOR)
    before = Kernel("k", (x, y), (made,), kind=KernelKind.CPU)
    after = read_anyway(before)
    (choice,) = find(after.body, Select)
    assert not any(find([choice], Load))
    np.testing.assert_array_equal(result(after), result(before))


def test_conditions_that_guard_each_other_stay():
    divided = LessEqual(FloorDiv(number(12), j), number(4))
    before = product(And(And(LessEqual(number(1), j), divided), inside(0, at, 6)))
    after = read_anyway(before)
    (choice,) = find(after.body, Select)
    assert isinstance(choice.condition, And)
    np.testing.assert_array_equal(result(after), result(before))


def test_so_is_what_says_where_an_element_is():
    """Two elements by one place each, which the condition asks for, too."""
    place = Load(x, (number(0), at)).cast(i32)
    found = Load(x, (number(1), place)) + Load(x, (number(1), place + 1))
    condition = And(inside(0, at, 6), inside(0, place, 5))
    put = Store(y, (j,), Select(condition, found, ZERO))
    made = For(j, wrap(35), (NAMED, put), LoopKind.VECTOR)
    before = Kernel("k", (x, y), (made,), kind=KernelKind.CPU)
    after = read_anyway(before)
    (choice,) = find(after.body, Select)
    assert not any(find([choice], Load))
    assert len([*find(after.body, Load)]) == 3
    np.testing.assert_array_equal(result(after), result(before))


def test_neighbours_that_a_tensor_of_bools_decides_about_are_read():
    m = Var("m", boolean[35])
    found = Select(Load(m, (j,)), Load(x, (number(2), FloorMod(j, number(7)))), Load(y, (j,)))
    made = For(j, wrap(35), (Store(y, (j,), found),), LoopKind.VECTOR)
    before = Kernel("k", (m, x, y), (made,), kind=KernelKind.CPU)
    after = read_anyway(before)
    (choice,) = find(after.body, Select)
    assert not any(find([choice.then, choice.otherwise], Load))
    given = np.arange(35, dtype=np.float32).reshape(5, 7)
    results = []
    for each in (before, after):
        out = np.arange(40, dtype=np.float32)
        sim.launch(each, np.arange(35) % 3 == 0, given, out)
        results.append(out)
    np.testing.assert_array_equal(*results)


CHOSEN = Select(
    LessEqual(number(3), j), Load(x, (number(0), FloorMod(at, number(7)))), Load(y, (j,))
)


def test_a_choice_that_something_decides_further_stays():
    put = Store(y, (j,), Select(inside(2, j, 4), CHOSEN, ZERO))
    made = For(j, wrap(35), (NAMED, put), LoopKind.VECTOR)
    before = Kernel("k", (x, y), (made,), kind=KernelKind.CPU)
    assert read_anyway(before) == before


def test_where_nothing_may_be_there_nothing_is_read():
    n = Var("n", i32)
    some = Var("x", f32[n])
    put = Store(y, (j,), Select(inside(2, j, 4), Load(some, (j * 2,)), ZERO))
    before = Kernel(
        "k", (some, y), (For(j, wrap(35), (put,), LoopKind.VECTOR),), kind=KernelKind.CPU
    )
    assert read_anyway(before) == before


def open_batch(extent):
    """Every other column of row `i // 3` of x[n, 7], in a loop of so many iterations around."""
    n, i = Var("n", i32), Var("i", i32)
    x, y = Var("x", f32[n, 7]), Var("y", f32[n, 3, 4])
    read = Load(x, (FloorDiv(i, number(3)), j * 2 - 1))
    put = Store(
        y,
        (FloorDiv(i, number(3)), FloorMod(i, number(3)), j),
        Select(LessEqual(number(1), j), read, ZERO),
    )
    inner = For(j, wrap(4), (put,), LoopKind.VECTOR)
    return Kernel("k", (x, y), (For(i, extent(n), (inner,)),), kind=KernelKind.CPU)


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_an_open_size_is_not_zero_where_a_loop_around_has_a_iteration(size):
    before = open_batch(lambda n: n * 3)
    after = read_anyway(before)
    assert not any(isinstance(each.then, Load) for each in find(after.body, Select))
    given = np.arange(size * 7, dtype=np.float32).reshape(size, 7)
    found = [np.full((size, 3, 4), -1, np.float32) for _ in range(2)]
    for made, out in zip((before, after), found, strict=True):
        sim.launch(made, given, out)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("extent", [lambda n: wrap(6), lambda n: n * 3 + 1])
def test_an_open_size_may_be_zero_where_loops_run_without_it(extent):
    before = open_batch(extent)
    assert read_anyway(before) == before
