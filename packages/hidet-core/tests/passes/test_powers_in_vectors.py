"""Vector loops that compute powers, written in vectors."""

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import Cast, Load, Select, Var, constant, wrap
from hidet.ir.functions import call
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Assign, Declare, For, If, LoopKind, Store
from hidet.ir.walk import find
from hidet.passes.loops.powers_in_vectors import MOST, powers_in_vectors
from hidet.passes.pipeline import passes_for
from hidet.types import bf16, f16, f32, f64, i32

LANES = 8
X, Y, J, N, AT, V = (
    Var("x", ~f32), Var("y", ~f32), Var("i", i32), Var("n", i32), Var("at", i32), Var("v", f32)
)  # fmt: skip
HERE, THERE = Load(X, (J + 3,)), Load(X, (AT,))
POWER = call("exp", HERE - Load(X, (wrap(0),)))


def kernel(*body, extent=24, x=X, y=Y):
    loop = For(J, wrap(extent), body, LoopKind.VECTOR)
    return Kernel("k", (x, y, N), (loop,), KernelKind.CPU)


def stored(value, at=J, y=Y):
    return Store(y, (at,), value)


def result(made, n=0, of=np.float32):
    x = np.random.default_rng(0).uniform(-1, 1, 256).astype(of)
    y = np.zeros(256, np.float32)
    sim.launch(made, x, y, n)
    return y


def vectors_of(made):
    return sum(each.lanes == LANES for each in find(made.body, Load))


def scalar_iterations(made):
    loops = [each for each in find(made.body, For) if each.kind is LoopKind.VECTOR]
    return [int(each.extent.value) for each in loops]


CASES = {
    "whole vectors": (kernel(stored(POWER)), 3, []),
    "a rest": (kernel(stored(POWER), extent=29), 3, [5]),
    "many": (kernel(stored(POWER), extent=8 * MOST + 12), 1, [4]),
    "names": (kernel(Declare(AT, J + 3), Declare(V, call("exp", THERE)), stored(V, AT)), 3, []),
    "arithmetic": (kernel(stored(HERE / (1.0 + call("exp", -HERE)))), 3, []),
    "a choice": (kernel(stored(Select(HERE < 0.5, POWER, wrap(2.0)))), 3, []),
    "one choice for all": (kernel(stored(Select(N < 1, POWER, wrap(2.0)))), 3, []),
    "sums": (kernel(stored(Load(Y, (J,)) + POWER)), 6, []),
    "erf": (kernel(stored(call("erf", HERE))), 3, []),
    "tanh": (kernel(stored(call("tanh", HERE))), 3, []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_powers_are_computed_in_vectors(name):
    made, loads, rest = CASES[name]
    after = powers_in_vectors(LANES)(made)
    assert vectors_of(after) == loads
    assert scalar_iterations(after) == rest
    np.testing.assert_array_equal(result(after), result(made))


@pytest.mark.parametrize("narrow", [f16, bf16])
def test_elements_of_16_bits_are_read_as_float32(narrow):
    x = Var("x", ~narrow)
    made = kernel(stored(call("exp", Cast(Load(x, (J,)), f32))), x=x)
    after = powers_in_vectors(LANES)(made)
    assert vectors_of(after) == 3
    np.testing.assert_array_equal(result(after, of=narrow.numpy), result(made, of=narrow.numpy))


@pytest.mark.parametrize("n", [-3, 0, 7, 8, 29])
def test_extents_that_calls_tell_have_a_rest(n):
    made = kernel(stored(POWER), extent=N)
    after = powers_in_vectors(LANES)(made)
    assert vectors_of(after) == 1
    np.testing.assert_array_equal(result(after, n), result(made, n))


OTHERS = {
    "no power": kernel(stored(HERE * 2.0)),
    "another function": kernel(stored(POWER + call("sin", HERE))),
    "few iterations": kernel(stored(POWER), extent=7),
    "not side by side": kernel(stored(call("exp", Load(X, (J * 2,))))),
    "written apart": kernel(stored(POWER, J * 2)),
    "one place": kernel(stored(POWER, constant(0, i32))),
    "by places": kernel(stored(call("exp", Cast(J, f32)))),
    "a condition": kernel(If(J < 9, (stored(POWER),))),
    "a choice by places": kernel(stored(Select(J < 9, POWER, wrap(0.0)))),
    "assigned": kernel(Declare(V, POWER), Assign(V, V + 1.0), stored(V)),
    "doubles": kernel(
        stored(Cast(call("exp", Load(Var("x", ~f64), (J,))), f32)), x=Var("x", ~f64)
    ),
    "narrow results": kernel(
        stored(Cast(POWER, bf16), y=Var("y", ~bf16)), y=Var("y", ~bf16)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_loops_stay_as_they_are(name):
    assert powers_in_vectors(LANES)(OTHERS[name]) is OTHERS[name]


def test_kernels_for_gpus_stay_as_they_are():
    loop = For(J, wrap(24), (stored(POWER),), LoopKind.VECTOR)
    made = Kernel("k", (X, Y, N), (loop,))
    assert powers_in_vectors(LANES)(made) is made


def test_it_is_a_pass_where_vectors_can_look_up():
    names = [each.name for each in passes_for(KernelKind.CPU, lanes=LANES)]
    assert names.index("powers_in_vectors") < names.index("copy_vectors")
    assert "powers_in_vectors" not in [each.name for each in passes_for(KernelKind.CPU)]
