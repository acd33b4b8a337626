"""Copies have variables of their own."""

from hidet.ir.expr import Var, wrap
from hidet.ir.stmt import Assign, Declare, For
from hidet.ir.walk import introduced, variables
from hidet.passes.loops.fresh import copied
from hidet.types import i32

i, j, n = (Var(name, i32) for name in "ijn")
BODY = (For(i, n, (Declare(j, i), Assign(j, j + 1))),)


def test_introduced_variables_are_replaced_everywhere():
    new = copied(BODY, {})
    assert not set(introduced(new)) & set(introduced(BODY))
    assert str(new[0]) == str(BODY[0])
    assert not {i, j} & set(variables(new))


def test_values_are_put_in():
    assert str(copied(BODY, {n: wrap(4)})[0]).startswith("for i in 4:")
