"""Kernels that break a rule are named with their place."""

from dataclasses import replace

import pytest

from hidet.errors import BadKernel, Place
from hidet.ir.check import check
from hidet.ir.expr import (
    Add,
    And,
    Const,
    Get,
    Lane,
    Load,
    Not,
    Select,
    Splat,
    Var,
    wrap,
)
from hidet.ir.kernel import Kernel, Launch
from hidet.ir.stmt import (
    Assign,
    Break,
    Declare,
    For,
    ForTasks,
    If,
    Put,
    Store,
    While,
)
from hidet.mapping import spatial
from hidet.types import PointerType, boolean, f32, i32, i64

m = Var("m", i32)
x, y = Var("x", f32[m, 4]), Var("y", f32[m, 4])
i, j, s = Var("i", i32), Var("j", i32), Var("s", f32)
p = Var("p", boolean)
PLACE = Place("model.py", 12)


def kernel(*body, **changes):
    return replace(Kernel("k", (x, y), body), **changes)


GOOD = For(
    i,
    m,
    (
        For(
            j,
            wrap(4),
            (Declare(s, Get(x, (i, j)) + 1.0), If(s < 0.0, (Put(y, (i, j), s),), (Break(),))),
        ),
    ),
)


def test_a_good_kernel_passes():
    check(kernel(GOOD))
    check(kernel(ForTasks((i, j), spatial(2, 4), m, (Put(y, (i, j), Const(0.0, f32)),))))


@pytest.mark.parametrize(
    ("s", "message"),
    [
        (Store(x, (wrap(0), i), wrap(0.0), PLACE), "`i` is not declared here"),
        (Store(x, (wrap(0),), wrap(0.0), PLACE), "has 2 axes and is used with 1 indices"),
        (Store(x, (wrap(0), wrap(0.5)), wrap(0.0), PLACE), "index `0.5` of `x` is f32"),
        (Store(x, (wrap(0), wrap(0)), wrap(1), PLACE), "value of i32 is stored in x"),
        (If(wrap(1), (), (), PLACE), "condition `1` is i32, not bool"),
        (While(wrap(1.0), (), PLACE), "condition `1.0` is f32"),
        (For(i, wrap(1.5), (), place=PLACE), "extent of a loop is f32"),
        (Break(PLACE), "break outside of a loop"),
        (Declare(s, wrap(1), PLACE), "`s` is f32, its first value i32"),
        (Declare(s, Add(wrap(1), Const(1, i64)), PLACE), "combines i32 with i64"),
        (Declare(i, Select(wrap(1) < 2, wrap(1), wrap(1.0)), PLACE), "is i32 or f32"),
        (Declare(p, And(wrap(1), wrap(1)), PLACE), "of i32 and i32"),
        (Declare(i, Not(wrap(1)), PLACE), "of i32"),
        (Declare(s, Lane(Splat(wrap(1.0), 2), 2), PLACE), "lane 2 of f32x2"),
        (Declare(s, Load(m, (wrap(0),)), PLACE), "not memory"),
        (ForTasks((i,), spatial(2, 4), wrap(0), (), PLACE), "1 names for tasks of 2 indices"),
        (Declare(x, None, PLACE), "`x` is declared twice"),
    ],
)
def test_bad_statements(s, message):
    with pytest.raises(BadKernel) as caught:
        check(kernel(s))
    assert message in str(caught.value)
    assert caught.value.place is PLACE


def test_assigned_values_have_the_type_of_the_variable():
    with pytest.raises(BadKernel, match="the value assigned f32"):
        check(kernel(Declare(i, wrap(0)), Assign(i, wrap(1.0))))


def test_a_variable_is_gone_after_its_scope():
    with pytest.raises(BadKernel, match="not declared here"):
        check(kernel(GOOD, Store(y, (wrap(0), wrap(0)), s)))


def test_forbidden_nodes():
    check(kernel(GOOD), forbidden=(ForTasks,))
    with pytest.raises(BadKernel, match="a Get is left"):
        check(kernel(GOOD), forbidden=(Get,))
    with pytest.raises(BadKernel, match="a Put is left"):
        check(kernel(GOOD), forbidden=(Put,))


def test_launch_sizes_are_integers():
    launch = Launch((wrap(1.5), wrap(1), wrap(1)))
    with pytest.raises(BadKernel, match="a launch size is f32"):
        check(kernel(launch=launch))


def test_sizes_are_free_once_tensors_are_pointers():
    q = Var("q", PointerType(f32))
    body = (For(i, m, (Store(q, (i,), wrap(0.0)),)),)
    check(kernel(*body, params=(q,)))
    with pytest.raises(BadKernel, match="not declared"):
        check(kernel(For(i, Var("other", i32), ())))
