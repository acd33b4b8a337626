"""Conditions out of vector loops: those of the iteration, those of none, and those that stay."""

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import And, FloorDiv, Less, LessEqual, Load, Var, constant, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Assign, Declare, For, If, LoopKind, Store
from hidet.ir.walk import find
from hidet.passes.loops.shorten_loops import bound, shorten_loops
from hidet.types import f32, i32

x, y = Var("x", f32[64]), Var("y", f32[64])
left, j, at, top, value = (Var(name, i32) for name in ("left", "j", "at", "top", "value"))
PUT = Store(y, (at,), Load(x, (at,)))


def number(of):
    return constant(of, i32)


def kernel(condition, *ahead, body=(PUT,), extent=16):
    inner = For(j, wrap(extent), (*ahead, If(condition, body)), LoopKind.VECTOR)
    outer = For(left, wrap(3), (Declare(top, left * 16), inner))
    return Kernel("k", (x, y), (outer,), kind=KernelKind.CPU)


def result(made):
    given = np.arange(64, dtype=np.float32)
    found = np.full(64, -1, np.float32)
    sim.launch(made, given, found)
    return found


NAMED = Declare(at, top + j)
CASES = [
    kernel(Less(top + j, number(41)), NAMED),
    kernel(Less(at, number(41)), NAMED),
    kernel(Less(FloorDiv(at, number(7)), number(6)), NAMED),
    kernel(LessEqual(at, number(32)), NAMED),
    kernel(And(Less(top, number(17)), Less(at, number(30))), NAMED),
    kernel(And(LessEqual(number(3), at), Less(at, number(30))), NAMED),
    kernel(Less(top, number(17)), NAMED),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_the_same_is_written_as_before(number):
    before = CASES[number]
    after = shorten_loops(before)
    assert after != before
    np.testing.assert_array_equal(result(after), result(before))


def test_full_iterations_have_no_condition_and_others_a_mask():
    (choice,) = (each for each in find(shorten_loops(CASES[1]).body, If) if each.otherwise)
    (full,), (masked,) = choice.then, choice.otherwise
    assert not list(find(full.body, If))
    (mask,) = find(masked.body, If)
    assert mask.condition.a is masked.var


def test_a_condition_on_no_iteration_is_asked_once():
    made = shorten_loops(CASES[-1])
    (outer,) = made.body
    assert isinstance(outer.body[1], If)
    assert isinstance(outer.body[1].then[0], For)


def test_values_that_change_decide_nothing_ahead():
    counted = Declare(value, number(0)), Assign(value, value + 1)
    before = kernel(Less(value, number(8)), NAMED, *counted)
    assert shorten_loops(before) == before


def test_what_is_read_decides_nothing_ahead():
    before = kernel(Load(x, (at,)) < 3.0, NAMED)
    assert shorten_loops(before) == before


def test_arithmetic_is_done_ahead_of_a_mask():
    put = Store(y, (at,), (at * 2).cast(f32))
    made = shorten_loops(kernel(Less(at, number(41)), NAMED, body=(put,)))
    values = [s for s in find(made.body, Declare) if s.var.name == "value"]
    assert len(values) == 1
    np.testing.assert_array_equal(result(made)[:41], np.arange(41, dtype=np.float32) * 2)
    assert (result(made)[41:] == -1).all()


def test_other_loops_and_kernels_stay():
    serial = For(j, wrap(16), (NAMED, If(Less(at, number(8)), (PUT,))))
    made = Kernel("k", (x, y), (Declare(top, number(0)), serial), kind=KernelKind.CPU)
    assert shorten_loops(made) == made


@pytest.mark.parametrize(
    ("condition", "end"),
    [
        (Less(j + 4, number(9)), 5),
        (LessEqual(j, number(9)), 10),
        (Less(FloorDiv(j + 2, number(4)), number(3)), 10),
        (Less(number(2), j), None),
        (Less(j * 2, number(9)), 5),
        (Less(FloorDiv(j, number(2)) + FloorDiv(j, number(3)), number(9)), None),
    ],
)
def test_the_iterations_below_a_bound(condition, end):
    found = bound(condition, j)
    assert (found is None and end is None) or found is number(end)
