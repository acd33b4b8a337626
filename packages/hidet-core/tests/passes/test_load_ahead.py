"""Loads go ahead of stores, no more than registers hold, and no value changes by it."""

import pytest

from hidet.ir.expr import Builtin, Load, Var, select, wrap
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Assign, Declare, If, Invoke, Store
from hidet.passes.addresses.load_ahead import IN_FLIGHT, load_ahead
from hidet.passes.base import run
from hidet.types import Scope, TensorType, VectorType, f16, f32, i32

THREAD = Builtin("threadIdx.x")
x, y, z = (Var(name, f32[256]) for name in "xyz")
places = Var("places", i32[256])
s = Var("s", f32)


def kernel(kernels, *body, params=(x, y)):
    return Kernel("k", params, body, launch=kernels.grid(threads=32))


def text(kernels, *body, params=(x, y)):
    found = run(kernel(kernels, *body, params=params), [load_ahead])
    return [line.strip() for line in str(found).splitlines()[2:]]


def copy(at, of=x):
    return Store(y, (at,), Load(of, (at,)) + 1.0)


def guarded(at, of=x):
    return If(at < 200, (copy(at, of),))


def test_loads_are_under_way_together(kernels):
    assert text(kernels, guarded(THREAD), copy(THREAD + 32)) == [
        "x_ahead: f32 = (x[threadIdx.x] if (threadIdx.x < 200) else 0.0)",
        "x_ahead_1: f32 = x[(threadIdx.x + 32)]",
        "if (threadIdx.x < 200):",
        "y[threadIdx.x] = (x_ahead + 1.0)",
        "y[(threadIdx.x + 32)] = (x_ahead_1 + 1.0)",
    ]


def test_names_that_places_are_made_of_go_along(kernels):
    at = Var("at", i32)
    found = text(kernels, copy(THREAD), Declare(at, THREAD + 32), guarded(at))
    assert found[:2] == ["x_ahead: f32 = x[threadIdx.x]", "at: i32 = (threadIdx.x + 32)"]
    assert found[2] == "x_ahead_1: f32 = (x[at] if (at < 200) else 0.0)"


def test_vectors_go_ahead_whole(kernels):
    h, out = Var("h", f16[512]), Var("out", f16[512])
    lanes = Var("lanes", VectorType(f16, 8))

    def move(at):
        return If(at < 400, (Declare(lanes, Load(h, (at,), 8)), Store(out, (at,), lanes)))

    found = text(kernels, move(THREAD * 8), move(THREAD * 8 + 256), params=(h, out))
    assert found[1] == (
        "h_ahead_1: f16x8 = (h[((threadIdx.x * 8) + 256):8] if "
        "(((threadIdx.x * 8) + 256) < 400) else <0.0:f16 x 8>)"
    )


def test_no_more_are_under_way_than_registers_hold(kernels):
    found = text(kernels, *(copy(THREAD + number) for number in range(40)))
    most = IN_FLIGHT // 4
    first = next(place for place, line in enumerate(found) if line.startswith("y["))
    assert first == most
    assert sum(line.startswith("x_ahead") for line in found) == 40


def test_what_is_loaded_ahead_is_not_loaded_again(kernels):
    """Also if its place has another name; it counts once among what registers hold."""
    names = [Var("at", i32) for _ in range(24)]
    body = []
    for number, at in enumerate(names):
        value = Load(x, (THREAD + number,)) * Load(z, (at,))
        body += [Declare(at, THREAD + 1), Store(y, (THREAD + number,), value)]
    found = text(kernels, *body, params=(x, y, z))
    assert sum("z[" in line for line in found) == 1
    first = next(place for place, line in enumerate(found) if line.startswith("y["))
    assert sum(line.startswith("x_ahead") for line in found[:first]) == IN_FLIGHT // 4 - 1


def test_what_is_loaded_again_at_a_place_that_has_changed_is_another_value(kernels):
    at = Var("at", i32)
    body = [Declare(at, THREAD)]
    for number in range(IN_FLIGHT):
        body += [Store(y, (THREAD + number,), Load(x, (at,))), Assign(at, at + 1)]
    found = text(kernels, *body)
    assert sum("x[at]" in line for line in found) == IN_FLIGHT


BARRIER = Invoke("syncthreads")
SHARED = Var("shared", TensorType(f32, (64,), Scope.SHARED))
REGISTER = Var("held", TensorType(f32, (4,), Scope.REGISTER))
UNCHANGED = {
    "one after the other already": (Declare(s, Load(x, (THREAD,))), Store(y, (THREAD,), s)),
    "not across a barrier": (copy(THREAD), BARRIER, copy(THREAD + 32)),
    "what is stored too": (copy(THREAD, y), copy(THREAD + 32, y)),
    "only registers and shared memory are stored to": (
        Declare(SHARED),
        Declare(REGISTER),
        Store(SHARED, (THREAD,), Load(x, (THREAD,))),
        Store(REGISTER, (wrap(0),), Load(x, (THREAD + 32,))),
    ),
}


@pytest.mark.parametrize("body", UNCHANGED.values(), ids=UNCHANGED)
def test_what_stays(kernels, body):
    before = kernel(kernels, *body)
    assert str(run(before, [load_ahead])) == str(before)


def test_a_place_that_is_loaded_first_stays(kernels):
    picked = Load(x, (Load(places, (THREAD,)),))
    body = (copy(THREAD), Store(y, (THREAD + 32,), picked))
    found = text(kernels, *body, params=(x, places, y))
    assert "places_ahead: i32 = places[threadIdx.x]" in found
    assert found[-1] == "y[(threadIdx.x + 32)] = x[places_ahead]"


def test_what_gets_a_new_value_in_between_stays(kernels):
    at = Var("at", i32)
    body = (Declare(at, THREAD), copy(at), Assign(at, at + 32), copy(at))
    found = text(kernels, *body)
    assert found == [
        "at: i32 = threadIdx.x",
        "y[at] = (x[at] + 1.0)",
        "at = (at + 32)",
        "y[at] = (x[at] + 1.0)",
    ]


def test_a_load_with_two_conditions_stays(kernels):
    at = THREAD + 32
    both = select(at < 100, Load(x, (at,)), 0.0) + select(at < 50, Load(x, (at,)), 1.0)
    found = text(kernels, copy(THREAD), Store(y, (at,), both))
    assert not any("ahead" in line for line in found)


CASES = {
    "guarded": (guarded(THREAD), guarded(THREAD + 190), guarded(THREAD + 100)),
    "chosen": tuple(
        Store(y, (THREAD + k,), select(k > THREAD, Load(x, (THREAD + k,)), 3.0))
        for k in (0, 40, 90)
    ),
    "sums": (
        Declare(s, wrap(0.0)),
        Assign(s, s + Load(x, (THREAD,))),
        Store(y, (THREAD,), s),
        Assign(s, s + Load(x, (THREAD + 32,))),
        Store(y, (THREAD + 32,), s),
    ),
    "many": tuple(copy(THREAD + 32 * (number % 7)) for number in range(30)),
}


@pytest.mark.parametrize("body", CASES.values(), ids=CASES)
def test_same_meaning(kernels, agree, body):
    agree(kernel(kernels, *body), [(256,), (256,)], [load_ahead])
