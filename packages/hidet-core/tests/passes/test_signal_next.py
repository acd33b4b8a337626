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

INDEX = Builtin("blockIdx.x") * 128 + Builtin("threadIdx.x")
x, y, n = Var("x", f32[512]), Var("y", f32[512]), Var("n", i32)
USE = Store(y, (INDEX,), Load(x, (INDEX,)))


def kernel(*body, blocks=4, threads=128, **more):
    launch = Launch((wrap(blocks), wrap(1), wrap(1)), (wrap(threads), wrap(1), wrap(1)))
    return Kernel("k", (x, y), body, launch=launch, **more)


def test_the_signal_follows_the_wait_in_kernels_of_more_threads_than_there_are_at_once():
    given = overlap_launches(kernel(Declare(Var("t", i32), wrap(1)), USE))
    made = signal_next(511)(given)
    assert [s.name if isinstance(s, Invoke) else "" for s in made.body] == ["", WAIT, SIGNAL, ""]
    assert waits_first(made)
    assert signals(made)
    assert not signals(given)
    assert signal_next(512)(given) is given
    assert signal_next(511).__doc__


@pytest.mark.parametrize(
    "given",
    [
        kernel(Invoke(WAIT), Invoke(SIGNAL), USE),
        kernel(USE, Invoke(WAIT)),
        kernel(USE),
        kernel(Invoke(WAIT), USE, blocks=n),
        kernel(Invoke(WAIT), USE, blocks=16, threads=32),
        kernel(USE, kind=KernelKind.CPU),
    ],
    ids=[
        "signals itself",
        "waits too late",
        "does not wait",
        "unknown size",
        "small blocks",
        "on a CPU",
    ],
)
def test_other_kernels_stay_as_they_are(given):
    assert signal_next(1)(given) is given


def test_values_stay_as_they_are():
    given = np.arange(512, dtype=np.float32)
    made = np.empty_like(given)
    lowered = lower(kernel(USE), overlap=1)
    assert signals(lowered)
    sim.launch(lowered, given, made)
    assert np.array_equal(given, made)
    assert not signals(lower(kernel(USE), overlap=512))
