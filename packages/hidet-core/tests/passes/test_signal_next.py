"""Which kernels let the next one begin, and where the signal is."""

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import Builtin, Load, Var, wrap
from hidet.ir.kernel import Kernel, KernelKind, Launch
from hidet.ir.stmt import Declare, Invoke, Store
from hidet.passes.overlap_launches import WAIT, overlap_launches, waits_first
from hidet.passes.pipeline import lower
from hidet.passes.signal_next import SIGNAL, signal_next, signals
from hidet.types import f32, i32

INDEX = Builtin("blockIdx.x") * 32 + Builtin("threadIdx.x")
x, y, n = Var("x", f32[128]), Var("y", f32[128]), Var("n", i32)
USE = Store(y, (INDEX,), Load(x, (INDEX,)))


def kernel(*body, blocks=4, **more):
    launch = Launch((wrap(blocks), wrap(1), wrap(1)), (wrap(32), wrap(1), wrap(1)))
    return Kernel("k", (x, y), body, launch=launch, **more)


def test_the_signal_follows_the_wait_in_kernels_of_more_threads_than_there_are_at_once():
    given = overlap_launches(kernel(Declare(Var("t", i32), wrap(1)), USE))
    made = signal_next(127)(given)
    assert [s.name if isinstance(s, Invoke) else "" for s in made.body] == ["", WAIT, SIGNAL, ""]
    assert waits_first(made)
    assert signals(made)
    assert not signals(given)
    assert signal_next(128)(given) is given
    assert signal_next(127).__doc__


@pytest.mark.parametrize(
    "given",
    [
        kernel(Invoke(WAIT), Invoke(SIGNAL), USE),
        kernel(USE, Invoke(WAIT)),
        kernel(USE),
        kernel(Invoke(WAIT), USE, blocks=n),
        kernel(USE, kind=KernelKind.CPU),
    ],
    ids=["signals itself", "waits too late", "does not wait", "unknown size", "on a CPU"],
)
def test_other_kernels_stay_as_they_are(given):
    assert signal_next(1)(given) is given


def test_values_stay_as_they_are():
    given = np.arange(128, dtype=np.float32)
    made = np.empty_like(given)
    lowered = lower(kernel(USE), overlap=1)
    assert signals(lowered)
    sim.launch(lowered, given, made)
    assert np.array_equal(given, made)
    assert not signals(lower(kernel(USE), overlap=128))
