"""Index arithmetic and accumulators of automatic kernels."""

import numpy as np
import pytest

from hidet import sim
from hidet.compute import ArgReduce, Reduce
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Builtin, Const, Get, Var, wrap
from hidet.ir.kernel import ONE, Kernel, KernelKind, Launch
from hidet.ir.stmt import Put
from hidet.schedules.automatic.emit import (
    ceil_div,
    with_serial_reductions,
)
from hidet.types import f32, i32, i64

K = Var("k", i32)
ROWS, COLUMNS = 4, 9
X = Var("x", f32[ROWS, COLUMNS])
THREAD = Builtin("threadIdx.x")


def test_a_quotient_of_a_symbol_is_rounded_up():
    n = Var("n", i32)
    assert int(evaluate(wrap(ceil_div(n, 4)), {n: 9})) == 3


def reduced(reduce, values):
    """The reduction of each row, by one thread each."""
    out = Var("out", reduce.type[ROWS,])
    before, value = with_serial_reductions(reduce, {})
    body = (*before, Put(out, (THREAD,), value))
    sizes = (ONE, ONE, ONE), (Const(ROWS, i32), ONE, ONE)
    result = np.zeros(ROWS, out.dtype.numpy)
    sim.launch(Kernel("rows", (X, out), body, KernelKind.CUDA, Launch(*sizes)), values, result)
    return result


def rows():
    values = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    values[1, 3] = values[1, 7] = values[1].max() + 1  # ties
    values[2, 4] = np.nan
    values[3] = -np.inf
    return values


@pytest.mark.parametrize("how", ["sum", "prod", "max", "min"])
def test_reductions(how):
    with np.errstate(invalid="ignore"):
        expected = getattr(np, how)(rows(), 1)
    found = reduced(Reduce((K,), (COLUMNS,), Get(X, (THREAD, K)), how), rows())
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("how", ["max", "min"])
def test_positions_are_the_first_and_nan_wins(how):
    found = reduced(ArgReduce((K,), (COLUMNS,), Get(X, (THREAD, K)), how), rows())
    assert found.dtype == i64.numpy
    np.testing.assert_array_equal(found, getattr(np, "arg" + how)(rows(), 1))


def test_a_reduction_within_a_reduction_is_a_loop_within_a_loop():
    inner = Var("inner", i32)
    total = Reduce((inner,), (COLUMNS,), Get(X, (THREAD, inner)), "sum")
    value = Reduce((K,), (COLUMNS,), Get(X, (THREAD, K)) - total, "max")
    values = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    np.testing.assert_array_equal(reduced(value, values), values.max(1) - values.sum(1))
