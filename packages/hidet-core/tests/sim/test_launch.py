"""Whole kernels, written as IR by hand, against numpy."""

import time

import numpy as np
import pytest

from hidet.errors import BadArgument, DtypeMismatch, ShapeMismatch
from hidet.ir.expr import Address, Const, Get, Load, Var
from hidet.ir.kernel import ONE, Call, Kernel, KernelKind, Launch, Module
from hidet.ir.stmt import (
    Assign,
    Break,
    Continue,
    Declare,
    For,
    If,
    Invoke,
    LoopKind,
    Put,
    Return,
    Store,
    While,
)
from hidet.sim import launch
from hidet.types import f32, i32

from .by_hand import BX, TX, c, cuda, random, registers, shared


def elementwise():
    n, i = Var("n", i32), Var("i", i32)
    x, y = Var("x", f32[n,]), Var("y", f32[n,])
    body = (
        Declare(i, BX * 256 + TX),
        If(i < n, (Store(y, (i,), Load(x, (i,)) * 2.0 + 1.0),)),
    )
    return cuda((x, y), body, ((n + 255) // 256,), (256,))


@pytest.mark.parametrize("n", [1, 255, 256, 100_003])
def test_ragged_elementwise(n):
    x, y = random(n), np.zeros(n, np.float32)
    report = launch(elementwise(), x, y)
    np.testing.assert_array_equal(y, x * np.float32(2) + np.float32(1))
    assert report.executed["store global"] == n


def test_a_hundred_thousand_elements_take_well_below_a_second():
    x, y = random(100_000), np.zeros(100_000, np.float32)
    start = time.process_time()
    launch(elementwise(), x, y)
    assert time.process_time() - start < 0.8


def test_hooks_are_zero_outside_and_dropped_outside():
    n, i = Var("n", i32), Var("i", i32)
    x, y = Var("x", f32[n,]), Var("y", f32[n,])
    body = (Declare(i, BX * 64 + TX), Put(y, (i,), Get(x, (i + 1,))))
    a, b = random(100), np.full(100, 9, np.float32)
    launch(cuda((x, y), body, (2,), (64,)), a, b)
    np.testing.assert_array_equal(b, np.append(a[1:], np.float32(0)))


def test_pointers_and_trailing_scalars_after_lowering():
    x, y, n, i = Var("x", ~f32), Var("y", ~f32), Var("n", i32), Var("i", i32)
    body = (Declare(i, BX * 32 + TX), If(i < n, (Store(y, (i,), Load(x, (i,))),)))
    kernel = cuda((x, y, n), body, ((n + 31) // 32,), (32,))
    a, b = random(50), np.zeros(50, np.float32)
    launch(kernel, a, b, n=50)
    np.testing.assert_array_equal(a, b)
    launch(kernel, np.ones(50, np.float32), b, 50)
    assert (b == 1).all()


def test_break_continue_return_and_while():
    y, i, n = Var("y", i32[32,]), Var("i", i32), Var("n", i32)
    body = (
        If(TX.eq(31), (Return(),)),
        Declare(n, c(0)),
        For(
            i,
            c(100),
            (
                If(i > TX, (Break(),)),
                If((i % 2).eq(0), (Continue(),)),
                Assign(n, n + i),
            ),
        ),
        While(n < 50, (Assign(n, n + 7),)),
        Store(y, (TX,), n),
    )
    b = np.full(32, -1, np.int32)
    launch(cuda((y,), body), b)

    def expected(t: int) -> int:
        total = sum(i for i in range(t + 1) if i % 2)
        while total < 50:
            total += 7
        return total

    assert b.tolist() == [*(expected(t) for t in range(31)), -1]


def test_extents_that_differ_between_threads():
    y, i, n = Var("y", i32[32,]), Var("i", i32), Var("n", i32)
    body = (Declare(n, c(0)), For(i, TX, (Assign(n, n + i),)), Store(y, (TX,), n))
    b = np.zeros(32, np.int32)
    launch(cuda((y,), body), b)
    assert b.tolist() == [t * (t - 1) // 2 for t in range(32)]


def test_named_barriers_between_roles():
    """Two warps produce, two consume; each role waits at barriers the other does not."""
    y, tile, i = Var("y", i32[4, 64]), shared("tile", i32, 64), Var("i", i32)

    def meet(name: str, number: int):
        return Invoke(name, (), (), (number, 128))

    produce = For(
        i,
        c(4),
        (
            Store(tile, (TX,), TX * 10 + i),
            meet("barrier_arrive", 1),
            meet("barrier_sync", 2),
        ),
    )
    consume = For(
        i,
        c(4),
        (
            meet("barrier_sync", 1),
            Store(y, (i, TX - 64), Load(tile, (127 - TX,))),
            meet("barrier_arrive", 2),
        ),
    )
    body = (Declare(tile), If(TX < 64, (produce,), (consume,)))
    b = np.zeros((4, 64), np.int32)
    launch(cuda((y,), body, (1,), (128,)), b)
    expected = (63 - np.arange(64)) * 10 + np.arange(4)[:, None]
    np.testing.assert_array_equal(b, expected)


def test_blocks_wait_for_each_other_through_a_counter():
    """The last block to arrive sums what all wrote."""
    part, total = Var("part", f32[8,]), Var("total", f32[1,])
    counter, order, i = Var("counter", i32[1,]), Var("order", i32), Var("i", i32)
    s = Var("s", f32)
    body = (
        If(
            TX.eq(0),
            (
                Store(part, (BX,), BX.cast(f32)),
                Invoke("threadfence", (), (), ("gpu",)),
                Declare(order),
                Invoke("atomic_add", (Address(counter, (c(0),)), c(1)), (order,)),
                If(
                    order.eq(7),
                    (
                        Invoke("threadfence", (), (), ("gpu",)),
                        Declare(s, Const(0.0, f32)),
                        For(i, c(8), (Assign(s, s + Load(part, (i,))),)),
                        Store(total, (c(0),), s),
                    ),
                ),
            ),
        ),
    )
    out, n = np.zeros(1, np.float32), np.zeros(1, np.int32)
    launch(cuda((part, total, counter), body, (8,)), np.zeros(8, np.float32), out, n)
    assert out[0] == 28
    assert n[0] == 8


def test_a_module_runs_its_kernels_in_order_through_a_workspace():
    x, w, y = Var("x", f32[32,]), Var("w", f32[32,]), Var("y", f32[32,])
    p, q = Var("p", f32[32,]), Var("q", f32[32,])
    r, s = Var("r", f32[32,]), Var("s", f32[32,])
    first = Kernel(
        "first",
        (p, q),
        (Store(q, (TX,), Load(p, (TX,)) + 1.0),),
        launch=Launch((ONE,) * 3, (c(32), ONE, ONE)),
    )
    second = Kernel(
        "second",
        (r, s),
        (Store(s, (TX,), Load(r, (31 - TX,)) * 2.0),),
        launch=Launch((ONE,) * 3, (c(32), ONE, ONE)),
    )
    module = Module(
        "both", (x, y), (first, second), (Call("first", (x, w)), Call("second", (w, y))), (w,)
    )
    a, b = random(32), np.zeros(32, np.float32)
    launch(module, a, b)
    np.testing.assert_array_equal(b, (a[::-1] + np.float32(1)) * np.float32(2))


@pytest.mark.parametrize("kind", list(LoopKind))
def test_cpu_loops(kind):
    n, i, j = Var("n", i32), Var("i", i32), Var("j", i32)
    x, y, s = Var("x", f32[n, 5]), Var("y", f32[n,]), Var("s", f32)
    iteration = (
        Declare(s, Const(0.0, f32)),
        For(j, c(5), (Assign(s, s + Load(x, (i, j))),)),
        Store(y, (i,), s),
    )
    kernel = Kernel("rows", (x, y), (For(i, n, iteration, kind),), KernelKind.CPU)
    a, b = random(70, 5), np.zeros(70, np.float32)
    launch(kernel, a, b)
    np.testing.assert_allclose(b, a.sum(1), atol=1e-5)


def test_cpu_vector_loop_within_a_parallel_one_keeps_local_arrays():
    i, j = Var("i", i32), Var("j", i32)
    x, y, local = Var("x", f32[40, 8]), Var("y", f32[40, 8]), registers("local", f32, 8)
    iteration = (
        Declare(local),
        For(j, c(8), (Store(local, (j,), Load(x, (i, j)) * 2.0),), LoopKind.VECTOR),
        For(j, c(8), (Store(y, (i, j), Load(local, (7 - j,))),), LoopKind.VECTOR),
    )
    kernel = Kernel(
        "iteration", (x, y), (For(i, c(40), iteration, LoopKind.PARALLEL),), KernelKind.CPU
    )
    a, b = random(40, 8), np.zeros((40, 8), np.float32)
    launch(kernel, a, b)
    np.testing.assert_array_equal(b, a[:, ::-1] * 2)


def test_arguments_that_do_not_fit_are_refused():
    kernel = elementwise()
    x, y = random(8), np.zeros(8, np.float32)
    with pytest.raises(DtypeMismatch, match="float64"):
        launch(kernel, x.astype(np.float64), y)
    with pytest.raises(ShapeMismatch, match="shape"):
        launch(kernel, x, np.zeros(9, np.float32))
    with pytest.raises(BadArgument, match="missing"):
        launch(kernel, x)
    with pytest.raises(BadArgument, match="contiguous"):
        launch(kernel, random(16)[::2], y)
    both = random(12)
    with pytest.raises(BadArgument, match="overlap"):
        launch(kernel, both[:8], both[4:])
