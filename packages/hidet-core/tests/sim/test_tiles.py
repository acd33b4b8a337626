"""Kernels with shared memory, shuffles, asynchronous copies and tensor cores, against numpy."""

import time

import numpy as np
import pytest

from hidet.ir.expr import Address, Const, Expr, Load, Var, wrap
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import (
    Assign,
    Declare,
    For,
    If,
    Invoke,
    Store,
)
from hidet.sim import launch
from hidet.types import bf16, f16, f32, i32, u32

from .by_hand import BX, BY, SYNC, TX, TY, c, cuda, random, registers, shared


def test_shared_memory_transpose():
    x, y = Var("x", f32[64, 96]), Var("y", f32[96, 64])
    tile = shared("tile", f32, 32, 32)
    body = (
        Declare(tile),
        Store(tile, (TY, TX), Load(x, (BY * 32 + TY, BX * 32 + TX))),
        SYNC,
        Store(y, (BX * 32 + TY, BY * 32 + TX), Load(tile, (TX, TY))),
    )
    a, b = random(64, 96), np.zeros((96, 64), np.float32)
    report = launch(cuda((x, y), body, (3, 2), (32, 32)), a, b)
    np.testing.assert_array_equal(b, a.T)
    assert report.shared_bytes == 32 * 32 * 4
    assert report.barriers == 6


def test_layouts_permute_the_storage():
    x, y = Var("x", f32[8, 8]), Var("y", f32[8, 8])
    tile = shared("tile", f32, 8, 8, layout=lambda i, j: i * 8 + (i ^ j))
    body = (
        Declare(tile),
        Store(tile, (TX // 8, TX % 8), Load(x, (TX // 8, TX % 8))),
        SYNC,
        Store(y, (TX % 8, TX // 8), Load(tile, (TX % 8, TX // 8))),
    )
    a, b = random(8, 8), np.zeros((8, 8), np.float32)
    launch(cuda((x, y), body, (1,), (64,)), a, b)
    np.testing.assert_array_equal(b, a)


def test_tree_reduction():
    x, y = Var("x", f32[4, 256]), Var("y", f32[4,])
    tile, s, i = shared("tile", f32, 256), Var("s", i32), Var("i", i32)
    body = (
        Declare(tile),
        Store(tile, (TX,), Load(x, (BX, TX))),
        SYNC,
        For(
            i,
            c(8),
            (
                Declare(s, Const(128, i32) >> i),
                If(s > TX, (Store(tile, (TX,), Load(tile, (TX,)) + Load(tile, (TX + s,))),)),
                SYNC,
            ),
        ),
        If(TX.eq(0), (Store(y, (BX,), Load(tile, (0 * TX,))),)),
    )
    a, b = random(4, 256), np.zeros(4, np.float32)
    launch(cuda((x, y), body, (4,), (256,)), a, b)
    np.testing.assert_allclose(b, a.astype(np.float64).sum(1), atol=1e-4)


def test_warp_shuffle_reduction():
    x, y = Var("x", f32[64,]), Var("y", f32[64,])
    v, other, i = Var("v", f32), Var("other", f32), Var("i", i32)
    body = (
        Declare(v, Load(x, (TX,))),
        Declare(other),
        For(
            i,
            c(5),
            (
                Invoke("shfl_xor_sync", (Const(2**32 - 1, u32), v, c(16) >> i), (other,)),
                Assign(v, v + other),
            ),
        ),
        Store(y, (TX,), v),
    )
    a, b = random(64), np.zeros(64, np.float32)
    launch(cuda((x, y), body, (1,), (64,)), a, b)
    sums = a.astype(np.float64).reshape(2, 32).sum(1)
    np.testing.assert_allclose(b, np.repeat(sums, 32), atol=1e-5)


def double_buffer(wait_for: int = 1, last_barrier: bool = True) -> Kernel:
    """Rows of 128 floats are copied two deep; each thread reads its neighbour's element."""
    x, y = Var("x", f32[8, 128]), Var("y", f32[8, 128])
    tile, row, buffer = shared("tile", f32, 2, 128), Var("row", i32), Var("buffer", i32)

    def copy(r: Expr):
        return (
            If(
                (r < 8) & (TX < 32),
                (
                    Invoke(
                        "cp_async",
                        (Address(tile, (r % 2, TX * 4)), Address(x, (r, TX * 4))),
                        (),
                        (16,),
                    ),
                ),
            ),
            Invoke("cp_async_commit_group"),
        )

    body = (
        Declare(tile),
        *copy(c(0)),
        For(
            row,
            c(8),
            (
                *copy(row + 1),
                Invoke("cp_async_wait_group", (), (), (wait_for,)),
                SYNC,
                Declare(buffer, row % 2),
                Store(y, (row, TX), Load(tile, (buffer, 127 - TX))),
                *((SYNC,) if last_barrier else ()),
            ),
        ),
    )
    return cuda((x, y), body, (1,), (128,))


def test_asynchronous_double_buffer():
    a, b = random(8, 128), np.zeros((8, 128), np.float32)
    launch(double_buffer(), a, b)
    np.testing.assert_array_equal(b, a[:, ::-1])


def test_asynchronous_copy_fills_with_zeros():
    x, y, tile = Var("x", f32[10,]), Var("y", f32[16,]), shared("tile", f32, 16)
    taken = Var("taken", i32)
    body = (
        Declare(tile),
        If(
            TX < 4,
            (
                Declare(taken, (10 - TX * 4) * 4),
                Assign(taken, wrap(taken)),
                If(taken > 16, (Assign(taken, c(16)),)),
                If(taken < 0, (Assign(taken, c(0)),)),
                Invoke(
                    "cp_async", (Address(tile, (TX * 4,)), Address(x, (TX * 4,)), taken), (), (16,)
                ),
                Invoke("cp_async_wait_all"),
            ),
        ),
        SYNC,
        Store(y, (TX,), Load(tile, (TX,))),
    )
    a, b = random(10), np.ones(16, np.float32)
    launch(cuda((x, y), body, (1,), (16,)), a, b)
    np.testing.assert_array_equal(b, np.append(a, np.zeros(6, np.float32)))


def nest(loops, inner):
    for var, extent in reversed(loops):
        inner = For(var, c(extent), (inner,))
    return inner


def mma_tile(of, m=128, n=128, k=64):
    """128 × 128 × 64 by four warps of 64 × 64: ldmatrix from padded shared tiles, m16n8k16."""
    x, y, z = Var("x", of[m, k]), Var("y", of[k, n]), Var("z", f32[m, n])
    ta, tb = shared("ta", of, m, k + 8), shared("tb", of, k, n + 8)
    ra, rb = registers("ra", of, 4, 8), registers("rb", of, 8, 4)
    acc = registers("acc", f32, 4, 8, 4)
    i, s, mi, ni, t = (Var(name, i32) for name in ("i", "s", "mi", "ni", "t"))
    warp, lane = TX // 32, TX % 32
    top, left = warp // 2 * 64, warp % 2 * 64
    a_row, a_column = top + mi * 16 + lane % 16, s * 16 + lane // 16 * 8
    b_row, b_column = s * 16 + lane % 16, left + ni * 8
    left_operand, right_operand = Address(ra, (mi, c(0))), Address(rb, (ni, c(0)))
    load_a = Invoke("ldmatrix", (left_operand, Address(ta, (a_row, a_column))), (), (4, False))
    load_b = Invoke("ldmatrix", (right_operand, Address(tb, (b_row, b_column))), (), (2, True))
    operands = (left_operand, right_operand, Address(acc, (mi, ni, c(0))))
    multiply = Invoke("mma_sync", operands, (), ("m16n8k16",))
    row, column = top + mi * 16 + lane // 4 + t // 2 * 8, left + ni * 8 + lane % 4 * 2 + t % 2
    at = (i * 2 + TX // 64, TX % 64)
    body = (
        *map(Declare, (ta, tb, ra, rb)),
        Declare(acc, Const(0.0, f32)),
        For(i, c(m * k // 128), (Store(ta, at, Load(x, at)),)),
        For(i, c(k), (Store(tb, (i, TX), Load(y, (i, TX))),)),
        SYNC,
        For(
            s,
            c(k // 16),
            (
                For(mi, c(4), (load_a,)),
                For(ni, c(8), (load_b,)),
                For(mi, c(4), (For(ni, c(8), (multiply,)),)),
            ),
        ),
        nest(((mi, 4), (ni, 8), (t, 4)), Store(z, (row, column), Load(acc, (mi, ni, t)))),
    )
    return cuda((x, y, z), body, (1,), (128,))


@pytest.mark.parametrize("of", [f16, bf16])
def test_tensor_core_tile(of):
    a, b = random(128, 64).astype(of.numpy), random(64, 128).astype(of.numpy)
    z = np.zeros((128, 128), np.float32)
    start = time.process_time()
    launch(mma_tile(of), a, b, z)
    assert time.process_time() - start < 1.5
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(z, exact, atol=1e-4)
