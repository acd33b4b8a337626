"""cp.async: groups, zero fill, mistakes in the call; races are in tests/sim/test_faults.py."""

import numpy as np
import pytest

from hidet.errors import BadKernel, DtypeMismatch, SimulationError
from hidet.intrinsics import INTRINSICS
from hidet.ir.expr import Address, Builtin, Const, Load, Var
from hidet.ir.stmt import Declare, Invoke, Store
from hidet.sim import Misaligned, launch
from hidet.types import Scope, TensorType, f16, f32, i32

THREAD = Builtin("threadIdx.x")
WAIT, SYNC = Invoke("cp_async_wait_all"), Invoke("syncthreads")


def copy(target, source, size, *taken):
    return Invoke("cp_async", (target, source, *taken), (), (size,))


@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("taken", [0, 2, 4, None])
def test_bytes_that_are_not_taken_become_zero(block, size, taken):
    each = size // 2
    x, y = Var("x", f16[32 * each,]), Var("y", f16[32 * each,])
    tile = Var("tile", TensorType(f16, (32 * each,), Scope.SHARED))
    at = (THREAD * each,)
    given = () if taken is None else (Const(taken, i32),)
    stores = [Store(y, (at[0] + i,), Load(tile, (at[0] + i,))) for i in range(each)]
    body = (Declare(tile), copy(Address(tile, at), Address(x, at), size, *given), WAIT, *stores)
    values = np.arange(1, 32 * each + 1).astype(np.float16)
    out = np.ones(32 * each, np.float16)
    launch(block((x, y), body), values, out)
    kept = np.arange(each) < (each if taken is None else taken // 2)
    np.testing.assert_array_equal(out, np.where(np.tile(kept, 32), values, 0))


def test_only_the_groups_waited_for_arrive(block):
    x, y = Var("x", f32[64,]), Var("y", f32[64,])
    tile = Var("tile", TensorType(f32, (64,), Scope.SHARED))
    commit = Invoke("cp_async_commit_group")

    def body(read):
        return (
            Declare(tile),
            copy(Address(tile, (THREAD,)), Address(x, (THREAD,)), 4),
            commit,
            copy(Address(tile, (THREAD + 32,)), Address(x, (THREAD + 32,)), 4),
            commit,
            Invoke("cp_async_wait_group", (), (), (1,)),
            Store(y, (THREAD,), Load(tile, (read,))),
            WAIT,
        )

    out = np.zeros(64, np.float32)
    launch(block((x, y), body(THREAD)), np.arange(64, dtype=np.float32), out)
    assert out[:32].tolist() == list(range(32))
    with pytest.raises(SimulationError, match="not waited for"):
        launch(block((x, y), body(THREAD + 32)), np.arange(64, dtype=np.float32), out)


def test_addresses_are_multiples_of_the_size(block):
    x, tile = Var("x", f32[64,]), Var("tile", TensorType(f32, (64,), Scope.SHARED))
    values = np.zeros(64, np.float32)
    for target, source in ((0, 1), (1, 0)):
        call = copy(Address(tile, (THREAD * 0 + target,)), Address(x, (THREAD * 0 + source,)), 16)
        with pytest.raises(Misaligned):
            launch(block((x,), (Declare(tile), call, WAIT), 1), values)


def test_wrong_calls():
    x = Var("x", f32[64,])
    at = Address(x, (THREAD,))
    check = INTRINSICS["cp_async"].check
    with pytest.raises(BadKernel, match="4, 8, 16, not 12"):
        check(copy(at, at, 12))
    with pytest.raises(BadKernel, match="waits for all but -1"):
        INTRINSICS["cp_async_wait_group"].check(Invoke("cp_async_wait_group", (), (), (-1,)))


def test_text_compiles(block, assembled):
    x, y = Var("x", ~f32), Var("y", ~f32)
    tile = Var("tile", TensorType(f32, (128,), Scope.SHARED))
    body = [Declare(tile)]
    for size in (4, 8, 16):
        at = Address(tile, (THREAD * 4,)), Address(x, (THREAD * 4,))
        body += [copy(*at, size), copy(*at, size, Const(4, i32)), Invoke("cp_async_commit_group")]
    body += [Invoke("cp_async_wait_group", (), (), (1,)), WAIT, SYNC]
    body.append(Store(y, (THREAD,), Load(tile, (THREAD,))))
    assert "cp.async.cg.shared.global" in assembled(block((x, y), body))


def test_a_store_that_may_come_later_is_a_store(block):
    x, y = Var("x", f32[32,]), Var("y", f32[32,])
    tile = Var("tile", TensorType(f32, (32,), Scope.SHARED))
    place, value = Address(tile, (THREAD,)), Load(x, (THREAD,)) * 2.0
    stored = Invoke("store_async", (place, value))
    out = np.zeros(32, np.float32)
    body = (Declare(tile), stored, WAIT, Store(y, (THREAD,), Load(tile, (THREAD,))))
    launch(block((x, y), body), np.arange(32, dtype=np.float32), out)
    assert out.tolist() == list(range(0, 64, 2))
    INTRINSICS["store_async"].check(stored)
    with pytest.raises(DtypeMismatch):
        INTRINSICS["store_async"].check(Invoke("store_async", (place, Const(1, i32))))
