"""Long vector loops store whole lines of the cache."""

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import Cast, Load, Select, Var, constant, wrap
from hidet.ir.functions import call
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Declare, For, LoopKind, Store
from hidet.ir.walk import find
from hidet.passes.loops.align_stores import LONG, align_stores
from hidet.types import bf16, f16, f32, i32, i64

ROWS, WIDTH = 3, LONG + 89
X, Y, ROW, J, AT, N = (
    Var("x", ~f32), Var("y", ~f32), Var("row", i32), Var("j", i32), Var("at", i32), Var("n", i32)
)  # fmt: skip
HERE = ROW * WIDTH + J
SAME = Load(X, (HERE,))


def kernel(*body, extent=WIDTH, y=Y):
    inner = For(J, wrap(extent), body, LoopKind.VECTOR)
    return Kernel("k", (X, y, N), (For(ROW, wrap(ROWS), (inner,)),), KernelKind.CPU)


def copy(at=HERE, value=SAME):
    return Store(Y, (at,), value)


def result(made, of=np.float32, n=5):
    x = np.random.default_rng(0).uniform(-1, 1, 4 * WIDTH).astype(np.float32)
    y = np.zeros(8 * WIDTH, of)
    sim.launch(made, x, y, n)
    return y


def vector_loops(made):
    return [each for each in find(made.body, For) if each.kind is LoopKind.VECTOR]


SPLIT = {
    "rows": kernel(copy()),
    "an offset": kernel(copy(J + 3)),
    "names": kernel(Declare(AT, HERE + N), copy(AT)),
    "arithmetic": kernel(copy(value=SAME * 2.0 + Load(X, (J,)))),
    "a choice": kernel(copy(value=Select(J < N, Load(X, (J,)), wrap(0.0)))),
    "in place": kernel(copy(value=Load(Y, (HERE,)) + SAME)),
}


@pytest.mark.parametrize("name", SPLIT)
def test_elements_ahead_of_a_line_have_a_loop_of_their_own(name):
    made = SPLIT[name]
    after = align_stores(made)
    (loop,) = vector_loops(after)
    assert loop is not vector_loops(made)[0]
    np.testing.assert_array_equal(result(after), result(made))


@pytest.mark.parametrize("of", [f32, f16, bf16])
def test_vectors_begin_where_a_line_begins(of):
    y = Var("y", ~of)
    store = Store(y, (HERE,), Cast(SAME, of))
    (loop,) = vector_loops(align_stores(kernel(store, y=y)))
    head = next(each for each in find(align_stores(kernel(store, y=y)).body, Declare))
    lanes = 64 // of.nbytes
    mark = Var("mark", ~i32)  # where each row's vectors begin
    noted = Store(mark, (ROW,), head.init)
    made = Kernel("k", (mark,), (For(ROW, wrap(ROWS), (noted,)),), KernelKind.CPU)
    begins = np.zeros(ROWS, np.int32)
    sim.launch(made, begins)
    assert [(row * WIDTH + int(b)) % lanes for row, b in enumerate(begins)] == [0] * ROWS
    assert (begins >= 0).all()
    assert (begins < lanes).all()
    assert len(list(find((loop,), Store))) == 1


KEPT = {
    "whole lines": kernel(copy(ROW * 640 + J)),
    "short rows": kernel(copy(), extent=LONG - 1),
    "unknown length": kernel(copy(), extent=N),
    "functions": kernel(copy(value=call("exp", SAME))),
    "elements apart": kernel(copy(J * 2 + 1)),
    "one element": kernel(copy(constant(1, i32))),
    "large indices": kernel(copy(Cast(ROW, i64) * WIDTH + Cast(J, i64))),
    "two stores": kernel(copy(), copy(HERE + WIDTH)),
}


@pytest.mark.parametrize("name", KEPT)
def test_other_loops_stay(name):
    assert align_stores(KEPT[name]) is KEPT[name]


def test_loops_of_a_gpu_stay():
    made = Kernel("k", SPLIT["rows"].params, SPLIT["rows"].body, KernelKind.CUDA)
    assert align_stores(made) is made
