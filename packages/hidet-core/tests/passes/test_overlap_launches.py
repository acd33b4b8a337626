"""The wait for the kernels before: as late as it may be, and before everything it has to be."""

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import Builtin, Load, Var, wrap
from hidet.ir.kernel import Kernel, KernelKind, Launch
from hidet.ir.stmt import Assign, Declare, For, If, Invoke, Return, Store
from hidet.passes.launches.overlap_launches import (
    SIGNAL,
    WAIT,
    is_wait,
    overlap_launches,
    waits_first,
)
from hidet.passes.pipeline import lower
from hidet.types import Scope, TensorType, f32, i32

THREAD = Builtin("threadIdx.x")
x, y = Var("x", f32[32]), Var("y", f32[32])
s = Var("s", TensorType(f32, (32,), Scope.SHARED))
t, i = Var("t", i32), Var("i", i32)
USE = Store(y, (THREAD,), Load(x, (THREAD,)))
INDEX = Declare(t, THREAD + 1)


def kernel(*body, **more):
    return Kernel("k", (x, y), body, launch=Launch(block=(wrap(32), wrap(1), wrap(1))), **more)


def place(made):
    """Where the wait is in the body."""
    (found,) = (i for i, s in enumerate(made.body) if is_wait(s))
    return found


@pytest.mark.parametrize(
    ("before", "first"),
    [
        ((), USE),
        ((INDEX,), USE),
        ((INDEX, Declare(s), Store(s, (THREAD,), wrap(0.0)), Invoke("syncthreads")), USE),
        ((INDEX, If(THREAD < 3, (Assign(t, wrap(0)),))), If(THREAD < 3, (USE,))),
        ((), For(i, wrap(2), (INDEX, For(t, wrap(2), (USE,))))),
        ((INDEX,), If(Load(x, (wrap(0),)) < 1.0, (Assign(t, wrap(0)),))),
        ((INDEX,), If(THREAD < 3, (Return(),))),
    ],
)
def test_the_wait_is_before_the_first_use_of_memory_and_before_any_way_out(before, first):
    made = overlap_launches(kernel(*before, first, USE))
    assert place(made) == len(before)
    assert waits_first(made)


def test_what_may_be_read_ahead_of_the_wait_is():
    body = Declare(s), Store(s, (THREAD,), Load(x, (THREAD,))), INDEX, USE
    for ahead, wanted in (((), 1), ((x,), 3), ((y,), 1)):
        made = overlap_launches(kernel(*body, ahead=ahead))
        assert place(made) == wanted
        assert waits_first(made)
    assert not waits_first(kernel(*body[:2], Invoke(WAIT), USE))


def test_a_kernel_that_uses_no_memory_waits_at_its_end():
    assert place(overlap_launches(kernel(INDEX))) == 1


def test_a_wait_of_the_authors_stays_and_counts_if_it_comes_first():
    for body, first in (
        ((Invoke(WAIT), USE), True),
        ((USE, Invoke(WAIT)), False),
        ((If(THREAD < 3, (Invoke(WAIT),)), USE), False),
        ((Invoke(SIGNAL), Invoke(WAIT), USE), False),
    ):
        given = kernel(*body)
        assert overlap_launches(given) is given
        assert waits_first(given) is first


def test_there_is_none_on_a_cpu():
    given = kernel(USE, kind=KernelKind.CPU)
    assert overlap_launches(given) is given
    assert lower(given, overlap=True) is not None


def test_values_stay_as_they_are():
    given = np.arange(32, dtype=np.float32)
    made = np.empty_like(given)
    sim.launch(lower(kernel(INDEX, USE), overlap=True), given, made)
    assert np.array_equal(given, made)
