"""Which loop variable walks along memory."""

import pytest

from hidet.ir.expr import Const, Get, Var, wrap
from hidet.schedules.automatic.access import (
    constant_size,
    contiguous,
    mostly_contiguous,
    read_once,
    reads,
    stride,
)
from hidet.types import f32, i32

I, J, N = Var("i", i32), Var("j", i32), Var("n", i32)  # noqa: E741
X = Var("x", f32[5, 7])
WIDE = Var("wide", f32[5, N])
CASES = {
    "row": ((I, J), 7, 1),
    "column": ((J, I), 1, 7),
    "reversed": ((I, wrap(6) - J), 7, -1),
    "one row": ((Const(0, i32), J), 0, 1),
    "every other": ((I, J * 2), 7, 2),
    "a jump": ((I, J // 3), 7, None),
}


@pytest.mark.parametrize("name", CASES)
def test_stride(name):
    index, along_i, along_j = CASES[name]
    assert stride(Get(X, index), I) == along_i
    assert stride(Get(X, index), J) == along_j


def test_a_size_known_at_run_time_counts_as_large():
    assert stride(Get(WIDE, (I, J)), J) == 1
    assert stride(Get(WIDE, (I, J)), I) > 1


def test_an_index_that_memory_gives_has_no_stride():
    table = Var("table", i32[9,])
    assert stride(Get(X, (Get(table, (I,)), J)), I) is None


def test_contiguous():
    row, column, same = Get(X, (I, J)), Get(X, (J, I)), Get(X, (I, Const(3, i32)))
    assert list(reads(row + same)) == [row, same]
    assert contiguous(row + same, J)
    assert not contiguous(row + column, J)
    assert not contiguous(same, J)
    assert mostly_contiguous(row + column, J)
    assert not mostly_contiguous(same, J)


def test_what_is_read_once():
    row, bias, other = Get(X, (I, J)), Get(Var("b", f32[7,]), (J,)), Get(WIDE, (I, J))
    assert read_once(row * bias + other, (I, J)) == (X, WIDE)
    assert read_once(row * bias, (J,)) == (X, bias.tensor)
    assert read_once(row * row, (I, J)) == (X,)
    assert read_once(row * Get(X, (I, J + 1)) + other, (I, J)) == (WIDE,)
    assert read_once(row, (I, J, Var("k", i32))) == ()


def test_constant_size():
    assert (constant_size(4), constant_size(Const(5, i32)), constant_size(N)) == (4, 5, None)
