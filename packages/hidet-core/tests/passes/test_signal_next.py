"""Which kernels let the next one begin, and where the signal is."""

from dataclasses import replace

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import Builtin, Load, Minimum, Var, wrap
from hidet.ir.kernel import Kernel, KernelKind, Launch, PdlTrigger
from hidet.ir.stmt import Declare, For, If, Invoke, Store
from hidet.passes.launches.overlap_launches import WAIT, overlap_launches, waits_first
from hidet.passes.launches.signal_next import SIGNAL, signal_next, signals
from hidet.passes.pipeline import lower
from hidet.types import f32, i32

INDEX = Builtin("blockIdx.x") * 128 + Builtin("threadIdx.x")
x, y, n = Var("x", f32[512]), Var("y", f32[512]), Var("n", i32)
USE = Store(y, (INDEX,), Load(x, (INDEX,)))
READ = Declare(Var("t", f32), Load(x, (INDEX,)))


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
    assert signal_next(511).__doc__


def names(body):
    """What the statements of a body are, in short."""
    return [s.name if isinstance(s, Invoke) else type(s).__name__ for s in body]


def test_in_smaller_ones_it_follows_all_that_is_read():
    t = Var("t", f32)
    read = Declare(t, Load(x, (INDEX,)))
    made = signal_next(512)(kernel(Invoke(WAIT), read, read, Store(y, (INDEX,), t)))
    assert names(made.body) == [WAIT, "Declare", "Declare", SIGNAL, "Store"]
    again = (Declare(Var("u", f32), Load(x, (INDEX,))), Store(y, (INDEX,), t))
    made = signal_next(512)(kernel(Invoke(WAIT), read, Store(y, (INDEX,), t), *again))
    assert names(made.body) == [WAIT, "Declare", SIGNAL, "Store", "Declare", "Store"]


def test_it_never_precedes_the_wait():
    """Which what is read ahead of that does."""
    t, first = Var("t", f32), Builtin("threadIdx.x") < 32
    read, write = Declare(t, Load(x, (INDEX,))), Store(y, (INDEX,), wrap(1.0))
    made = signal_next(512)(kernel(READ, Invoke(WAIT), If(first, (read, write)), ahead=(x,)))
    assert names(made.body) == ["Declare", WAIT, "If"]
    assert names(made.body[2].then) == ["Declare", SIGNAL, "Store"]
    alone = kernel(READ, Invoke(WAIT), write, ahead=(x,))
    assert signal_next(512)(alone) is alone


def test_where_only_a_call_tells_how_many_blocks_there_are_the_kernel_looks():
    t = Var("t", f32)
    body = Invoke(WAIT), Declare(t, Load(x, (INDEX,))), Store(y, (INDEX,), t)
    made = signal_next(1024)(kernel(*body, blocks=n))
    assert names(made.body) == [WAIT, "If", "Declare", SIGNAL, "Store"]
    assert names(made.body[1].then) == [SIGNAL]
    assert str(made.body[1].condition) == "(8 < ((gridDim.x * gridDim.y) * gridDim.z))"
    few = signal_next(1024)(kernel(*body, blocks=Minimum(n, wrap(8))))
    assert names(few.body) == [WAIT, "Declare", SIGNAL, "Store"]


def test_blocks_that_may_have_several_tiles_give_it_where_they_have_one():
    """The first role reads, multiplies and writes tile by tile; the second one brings tiles."""
    t, first = Var("t", f32), Builtin("threadIdx.x") < 32
    read, write = Declare(t, Load(x, (INDEX,))), Store(y, (INDEX,), wrap(1.0))
    roles = If(first, (For(Var("i", i32), n, (read, write)),), (For(Var("j", i32), n, (read,)),))
    given = kernel(Invoke(WAIT), roles, blocks=Minimum(n * 2, wrap(4)))
    launch = replace(given.launch, pdl_trigger=PdlTrigger.ONLY_TILE)
    made = signal_next(512)(replace(given, params=(x, y, n), launch=launch))
    (loop,), (other, last) = made.body[1].then, made.body[1].otherwise
    assert names(loop.body) == ["Declare", "If", "Store"]
    assert names(other.body) == ["Declare"]
    assert last is loop.body[1]
    assert names(last.then) == [SIGNAL]
    assert str(last.condition) == "((n * 2) <= 4)"
    unknown = replace(given, launch=launch)  # how many there are is nothing that it is told
    assert signal_next(512)(unknown) is unknown


def test_in_roles_it_follows_what_each_one_reads():
    t, first = Var("t", f32), Builtin("threadIdx.x") < 32
    read, write = Declare(t, Load(x, (INDEX,))), Store(y, (INDEX,), wrap(1.0))
    made = signal_next(512)(kernel(Invoke(WAIT), If(first, (read,), (read, write))))
    (choice,) = made.body[1:]
    assert names(choice.then) == ["Declare", SIGNAL]
    assert names(choice.otherwise) == ["Declare", SIGNAL, "Store"]
    made = signal_next(512)(kernel(Invoke(WAIT), If(first, (read,), (write,))))
    assert names(made.body[1].otherwise) == ["Store"]


@pytest.mark.parametrize(
    "given",
    [
        kernel(Invoke(WAIT), Invoke(SIGNAL), USE),
        kernel(USE, Invoke(WAIT)),
        kernel(USE),
        kernel(Invoke(WAIT), READ, USE, blocks=n, threads=64),
        kernel(Invoke(WAIT), READ, USE, blocks=64, threads=32),
        kernel(Invoke(WAIT), USE),
        kernel(Invoke(WAIT), READ, Store(x, (INDEX,), Load(y, (INDEX,)))),
        kernel(USE, kind=KernelKind.CPU),
    ],
    ids=[
        "signals itself",
        "waits too late",
        "does not wait",
        "unknown size of small blocks",
        "small blocks",
        "reads what it writes at once",
        "writes what it reads",
        "on a CPU",
    ],
)
def test_other_kernels_stay_as_they_are(given):
    assert signal_next(1024)(given) is given


def test_values_stay_as_they_are():
    given = np.arange(512, dtype=np.float32)
    made = np.empty_like(given)
    lowered = lower(kernel(USE), overlap=1)
    assert signals(lowered)
    sim.launch(lowered, given, made)
    assert np.array_equal(given, made)
    assert not signals(lower(kernel(USE), overlap=512))
