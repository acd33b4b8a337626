"""Barriers that order nothing go; all others stay."""

import pytest

from hidet.ir.expr import Builtin, Load, Var, wrap
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Assign, Declare, For, If, Invoke, Store
from hidet.ir.walk import find
from hidet.passes.launches.order_barriers import order_barriers
from hidet.types import Scope, TensorType, f32, i32

THREAD = Builtin("threadIdx.x")
x = Var("x", f32[32])
s = Var("s", TensorType(f32, (32,), Scope.SHARED))
r = Var("r", TensorType(f32, (4,), Scope.REGISTER))
t, i = Var("t", f32), Var("i", i32)
FIRST = Store(s, (THREAD,), wrap(1.0))


def barrier(*options):
    return Invoke("syncthreads", options=options)


def count(*body):
    out = order_barriers(Kernel("k", (x,), (Declare(s), *body)))
    return sum(1 for each in find(out.body, Invoke) if each.name == "syncthreads")


@pytest.mark.parametrize(
    ("between", "left"),
    [
        ((), 1),
        ((Declare(t, wrap(1.0)),), 1),
        ((Declare(t, wrap(1.0)), Assign(t, t + 1.0)), 1),
        ((Declare(r), Declare(t, Load(r, (wrap(0),)))), 1),
        ((Declare(t, Load(s, (THREAD,))),), 2),
        ((Declare(t, Load(x, (THREAD,))),), 2),
        ((Store(s, (THREAD,), wrap(2.0)),), 2),
        ((Invoke("note"),), 2),
        ((For(i, wrap(2), ()),), 2),
        ((If(THREAD < 3, ()),), 2),
    ],
)
def test_what_lies_between_two_barriers(between, left):
    assert count(FIRST, barrier(), *between, barrier()) == left


def test_the_start_of_the_kernel_is_a_barrier():
    assert count(barrier(), FIRST) == 0


def test_loops_begin_with_what_came_before():
    assert count(FIRST, For(i, wrap(3), (barrier(), FIRST, barrier()))) == 2
    assert count(FIRST, barrier(), For(i, wrap(3), (barrier(), FIRST))) == 2
    assert count(FIRST, For(i, wrap(3), (FIRST, barrier(), barrier()))) == 1


def test_special_barriers_are_left_alone():
    assert count(FIRST, barrier(), barrier("named")) == 2


def test_nothing_to_do_is_the_same_kernel():
    kernel = Kernel("k", (x,), (Declare(s), FIRST, barrier(), FIRST))
    assert order_barriers(kernel) is kernel


def test_same_meaning(kernels, agree):
    iteration = (
        barrier(),
        Store(s, (THREAD,), Load(s, (THREAD,)) + 1.0),
        barrier(),
        barrier(),
        Store(x, (THREAD,), Load(s, (31 - THREAD,))),
    )
    body = (Declare(s), barrier(), FIRST, For(i, wrap(3), iteration))
    kernel = Kernel("k", (x,), body, launch=kernels.grid(threads=32))
    last = agree(kernel, [(32,)], [order_barriers])
    assert sum(1 for _ in find(last.body, Invoke)) == 2
