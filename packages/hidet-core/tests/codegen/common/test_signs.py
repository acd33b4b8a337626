import pytest

from hidet.codegen.common.signs import Signs
from hidet.ir.expr import Builtin, Cast, Const, Load, Maximum, Minimum, Select, Var
from hidet.ir.functions import call
from hidet.types import boolean, i32, i64, u8, u32, u64

INDEX, A = Var("i", i32), Var("a", i32)
T = Builtin("threadIdx.x")
X = Var("x", ~i32)


@pytest.fixture
def signs():
    signs = Signs()
    signs.learn(INDEX)
    return signs


@pytest.mark.parametrize(
    "e",
    [
        Const(0, i32),
        INDEX,
        T,
        INDEX * 4 + T,
        INDEX // 3,
        A % 5,
        INDEX >> 2,
        INDEX << 3,
        A & 7,
        INDEX | T,
        INDEX ^ T,
        Maximum(A, INDEX),
        Minimum(INDEX, T),
        Select(A < 0, INDEX, T),
        Cast(INDEX, i64),
        Cast(Var("u", u8), i32),
        Cast(Var("u", u32), i64),
        Var("u", u64),
        Cast(Var("b", boolean), i32),
        Load(Var("y", ~u32), (A,)),
    ],
    ids=str,
)
def test_proven(signs, e):
    assert signs.nonnegative(e)


@pytest.mark.parametrize(
    "e",
    [
        Const(-1, i32),
        A,
        INDEX - T,
        -INDEX,
        INDEX + A,
        INDEX * A,
        Minimum(A, INDEX),
        Load(X, (INDEX,)),
        INDEX % A,
        ~INDEX,
        Cast(Var("u", u32), i32),
        Cast(INDEX, i32).cast(u8).cast(i32) - 1,
        call("abs", A),
    ],
    ids=str,
)
def test_not_proven(signs, e):
    assert not signs.nonnegative(e)


def test_another_prover_can_be_used():
    assert Signs(lambda e, known: e is A).nonnegative(A)
