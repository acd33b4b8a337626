"""Parallel and vector loops of CPU kernels: iterations are independent, or it is an error."""

import numpy as np
import pytest

from hidet.errors import BadKernel
from hidet.ir.expr import Const, Load, Var
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Assign, Declare, For, LoopKind, Store
from hidet.sim import Race, launch
from hidet.types import f32, i32

ITERATION, X, Y = Var("i", i32), Var("x", f32[64,]), Var("y", f32[64,])


def run(*body):
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    launch(Kernel("loops", (X, Y), tuple(body), KernelKind.CPU), x, y)
    return y


def loop(*body, kind=LoopKind.PARALLEL, extent=32):
    return For(ITERATION, Const(extent, i32), tuple(body), kind)


def test_iterations_of_a_parallel_loop_may_not_touch_one_element():
    with pytest.raises(Race, match="iteration"):
        run(
            loop(
                Store(Y, (ITERATION,), Load(X, (ITERATION,))),
                Store(Y, (ITERATION + 1,), Load(X, (ITERATION,))),
            )
        )
    assert run(loop(Store(Y, (ITERATION * 2,), Load(X, (ITERATION,)))))[62] == 31


def test_loops_after_each_other_are_ordered():
    first = loop(Store(Y, (ITERATION,), Load(X, (ITERATION,))))
    second = loop(Store(Y, (31 - ITERATION,), Load(Y, (31 - ITERATION,)) + 1.0))
    assert run(first, second)[31] == 32


@pytest.mark.parametrize("kind", [LoopKind.PARALLEL, LoopKind.VECTOR])
def test_a_iteration_may_not_change_a_variable_of_all(kind):
    s = Var("s", f32)
    with pytest.raises(BadKernel, match="changes s"):
        run(Declare(s, Const(0.0, f32)), loop(Assign(s, s + Load(X, (ITERATION,))), kind=kind))


def test_more_iterations_than_run_at_once():
    n = Var("n", i32)
    x, y = Var("x", f32[n,]), Var("y", f32[n,])
    body = (
        For(
            ITERATION, n, (Store(y, (ITERATION,), Load(x, (ITERATION,)) + 1.0),), LoopKind.PARALLEL
        ),
    )
    a = np.arange(200_000, dtype=np.float32)
    b = np.zeros_like(a)
    launch(Kernel("many", (x, y), body, KernelKind.CPU), a, b)
    np.testing.assert_array_equal(b, a + 1)
