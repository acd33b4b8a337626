"""Both sides of a condition are evaluated in vector loops."""

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import And, BitAnd, Less, Load, Or, Var, constant, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Declare, For, LoopKind, Store
from hidet.ir.walk import find
from hidet.passes.addresses.evaluate_both import evaluate_both
from hidet.types import boolean, f32, i32

X, T, PLACES, Y = Var("x", f32[7]), Var("t", f32[1]), Var("p", i32[7]), Var("y", boolean[7])
J = Var("j", i32)
OWN = Load(X, (J,))
POSITIVE = Less(constant(0.0, f32), OWN)


def kernel(value, kind=KernelKind.CPU):
    loop = For(J, wrap(7), (Store(Y, (J,), value),), LoopKind.VECTOR)
    return Kernel("k", (X, T, PLACES, Y), (loop,), kind=kind)


@pytest.mark.parametrize("either", [And, Or])
def test_what_is_there_is_read_in_any_case(either):
    threshold = Less(Load(T, (wrap(0),)), OWN)
    after = evaluate_both(kernel(either(POSITIVE, threshold)))
    assert not list(find(after.body, either))
    x, t = np.array([-2, -1, 0, 1, 2, 3, np.nan], np.float32), np.array([1.5], np.float32)
    found = np.zeros(7, bool)
    sim.launch(after, x, t, np.zeros(7, np.int32), found)
    both = np.logical_and if either is And else np.logical_or
    np.testing.assert_array_equal(found, both(x > 0, x > t))


def test_what_indices_say_is_there_is_read_in_any_case():
    row, flags = Var("row", i32), Var("flags", boolean[3, 7])
    first = Load(flags, (row % 3, J))
    inner = For(J, wrap(7), (Store(Y, (J,), And(POSITIVE, first)),), LoopKind.VECTOR)
    made = Kernel("k", (X, flags, Y), (For(row, wrap(6), (inner,)),), kind=KernelKind.CPU)
    after = evaluate_both(made)
    assert not list(find(after.body, And))
    x, given = np.array([-2, -1, 0, 1, 2, 3, 4], np.float32), np.arange(21).reshape(3, 7) % 2 == 0
    found = np.zeros(7, bool)
    sim.launch(after, x, given, found)
    np.testing.assert_array_equal(found, (x > 0) & given[2])


@pytest.mark.parametrize(
    "second",
    [
        Less(constant(0.0, f32), Load(X, (Load(PLACES, (J,)),))),  # an element that may be missing
        Less(constant(0.0, f32), Load(X, (J + 1,))),  # the last one would be the eighth
        Less(Load(PLACES, (wrap(0),)) // J, wrap(1)),  # J may be zero
        Less(constant(1.0, f32), constant(2.0, f32)),  # reads nothing: left to the compiler
    ],
)
def test_what_may_not_be_there_waits_for_the_first_side(second):
    made = kernel(And(POSITIVE, second))
    assert evaluate_both(made).body == made.body


def test_a_name_of_what_was_read_is_a_second_side():
    flag, flags = Var("flag", boolean), Var("flags", boolean[7])
    own = (Declare(flag, Less(constant(0.0, f32), OWN)), Store(Y, (J,), And(Load(Y, (J,)), flag)))
    made = Kernel("k", (X, flags, Y), (For(J, wrap(7), own, LoopKind.VECTOR),), kind=KernelKind.CPU)
    assert not list(find(evaluate_both(made).body, And))


def test_kernels_for_gpus_stay():
    made = kernel(And(POSITIVE, Less(Load(T, (wrap(0),)), OWN)), KernelKind.CUDA)
    assert evaluate_both(made).body == made.body
    assert not list(find(made.body, BitAnd))
