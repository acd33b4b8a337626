"""Which loops can be taken statement by statement."""

from hidet.ir.expr import Get, Load, Var, wrap
from hidet.ir.stmt import Assign, Declare, For, If, Invoke, Put, Store
from hidet.passes.loops.statement_order import goes_by_statement
from hidet.types import Scope, TensorType, f32, i32

i, k = Var("i", i32), Var("k", i32)
x, y, z = (Var(name, f32[64]) for name in "xyz")
held = Var("held", TensorType(f32, (4,), Scope.REGISTER))
w, total = Var("w", f32), Var("total", f32)


def test_what_only_reads_and_writes_elsewhere():
    assert goes_by_statement((Declare(w, Get(x, (i,))), Put(y, (i,), w * 2.0)))
    assert goes_by_statement((If(i < 3, (Store(y, (i,), Load(x, (i,))),)),))
    assert goes_by_statement((Declare(w, Load(x, (i,))), Assign(w, w + 1.0), Store(y, (i,), w)))


def test_sums_that_one_statement_adds_to():
    assert goes_by_statement((Assign(total, total + Load(x, (i,))),))
    assert goes_by_statement((Store(held, (wrap(0),), Load(held, (wrap(0),)) + Load(x, (i,))),))


def test_what_a_iteration_leaves_for_the_next_one():
    assert not goes_by_statement((Assign(total, total + Load(x, (i,))), Store(y, (i,), total)))
    assert not goes_by_statement((Store(y, (i,), Load(y, (i + 1,))),))
    assert not goes_by_statement(
        (Store(y, (i,), Load(x, (i,))), Store(z, (i,), Load(y, (wrap(0),))))
    )
    assert not goes_by_statement((Store(y, (i,), w), Store(y, (i + 1,), w)))
    assert not goes_by_statement((If(Load(y, (i,)) < 0.0, (Store(y, (wrap(0),), w),)),))


def test_whatever_does_more_than_move_numbers():
    assert not goes_by_statement((Invoke("syncthreads"), Store(y, (i,), w)))
    assert not goes_by_statement((For(k, wrap(3), (Store(y, (i + k,), w),)),))
    assert not goes_by_statement((Declare(held), Store(y, (i,), w)))
