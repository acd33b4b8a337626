"""Loads of operands go ahead of the wait of a cluster, where their places are known there."""

import pytest

from hidet.ir.expr import Builtin, Load, Var, select, wrap
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Assign, Declare, For, If, Invoke, Store
from hidet.passes.base import run
from hidet.passes.load_ahead import IN_FLIGHT
from hidet.passes.load_while_waiting import load_while_waiting
from hidet.types import Scope, TensorType, f32, i32

THREAD = Builtin("threadIdx.x")
x, y, z = (Var(name, f32[256]) for name in "xyz")
s, at = Var("s", f32), Var("at", i32)
SHARED = Var("shared", TensorType(f32, (64,), Scope.SHARED))
MEETING = (Invoke("cluster_arrive", options=("release",)), Invoke("cluster_wait"))


def kernel(kernels, *behind):
    body = (Declare(SHARED), *MEETING, *behind, *MEETING)
    return Kernel("k", (x, y, z), body, launch=kernels.grid(threads=32))


def text(kernels, *behind):
    found = str(run(kernel(kernels, *behind), [load_while_waiting]))
    return [line.strip() for line in found.splitlines()[3:-2]]


def sum_with(of, place):
    return Store(y, (place,), Load(SHARED, (place,)) + Load(of, (place,)))


def test_a_load_is_under_way_while_blocks_wait(kernels):
    body = (Declare(at, THREAD + 1), Declare(s, Load(SHARED, (at,))), sum_with(x, at))
    assert text(kernels, If(THREAD < 16, body)) == [
        "cluster_arrive() ('release',)",
        "x_ahead: f32 = (x[(threadIdx.x + 1)] if (threadIdx.x < 16) else 0.0)",
        "cluster_wait()",
        "if (threadIdx.x < 16):",
        "at: i32 = (threadIdx.x + 1)",
        "s: f32 = shared[at]",
        "y[at] = (shared[at] + x_ahead)",
    ]


def test_no_more_are_under_way_than_registers_hold(kernels):
    found = text(kernels, *(sum_with(x, THREAD + number) for number in range(40)))
    assert found.index("cluster_wait()") == 1 + IN_FLIGHT // 4


turn = Var("turn", i32)
UNCHANGED = {
    "in a loop": For(turn, wrap(4), (sum_with(x, turn),)),
    "at a place that other blocks tell": sum_with(x, Load(SHARED, (THREAD,)).cast(i32)),
    "under a condition that they tell": If(Load(SHARED, (THREAD,)) < 1.0, (sum_with(x, THREAD),)),
    "what is stored": sum_with(y, THREAD),
    "under two conditions": Store(
        y,
        (THREAD,),
        select(THREAD < 10, Load(x, (THREAD,)), 0.0) + select(THREAD < 5, Load(x, (THREAD,)), 1.0),
    ),
    "at a place that changes": If(
        THREAD < 16, (Declare(at, THREAD), Assign(at, at + 1), sum_with(x, at))
    ),
}


@pytest.mark.parametrize("body", UNCHANGED.values(), ids=UNCHANGED)
def test_what_stays(kernels, body):
    before = kernel(kernels, body)
    assert str(run(before, [load_while_waiting])) == str(before)
