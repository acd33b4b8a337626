"""Values of definitions as reads of memory and arithmetic."""

import pytest

from hidet.compute import Input, grid
from hidet.errors import InternalError
from hidet.ir.expr import Const, Var
from hidet.schedules.automatic.expand import Expansion
from hidet.types import f32, i32

X = Input("x", f32[4, 6])
TENSOR = Var("x", X.type)
I, J = Var("i", i32), Var("j", i32)  # noqa: E741


def test_what_lies_in_memory_is_read_and_the_rest_computed():
    turned = grid((6, 4), lambda a, b: X[b, a] + 1.0)
    shifted = grid((5, 4), lambda a, b: turned[a + 1, b] * 2.0)
    read = Expansion({X: TENSOR})
    assert str(read.element(shifted, (I, J))) == "((x.get(j, (i + 1)) + 1.0) * 2.0)"
    y = Var("y", f32[6, 4])
    assert (
        str(Expansion({X: TENSOR, turned: y}).element(shifted, (I, J)))
        == "(y.get((i + 1), j) * 2.0)"
    )


def test_an_operand_without_memory_is_refused():
    with pytest.raises(InternalError, match="neither in memory"):
        Expansion({}).element(X, (I, Const(0, i32)))
