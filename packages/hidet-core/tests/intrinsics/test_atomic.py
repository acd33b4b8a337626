"""Atomics: every operation at every type, and their text."""

import numpy as np
import pytest

from hidet.errors import DtypeMismatch
from hidet.intrinsics import INTRINSICS
from hidet.intrinsics.synchronization.atomic import NUMBERS
from hidet.ir.expr import Address, Builtin, Const, Load, Var, constant
from hidet.ir.stmt import Declare, Invoke, Store
from hidet.sim import launch
from hidet.types import Scope, TensorType, f32, i32

THREAD, ZERO = Builtin("threadIdx.x"), Const(0, i32)
NAMES = ("atomic_add", "atomic_min", "atomic_max", "atomic_exchange")


def run(block, name, of, values, start, scope=Scope.GLOBAL):
    """The element after all threads, and what each saw before."""
    x, y, old = (Var(n, of[len(values),]) for n in ("x", "y", "old"))
    seen, tile = Var("seen", of), Var("tile", TensorType(of, (1,), Scope.SHARED))
    target = tile if scope is Scope.SHARED else y
    first = (
        (Declare(tile), Store(tile, (ZERO,), constant(start, of)), Invoke("syncthreads"))
        if scope is Scope.SHARED
        else ()
    )
    body = (
        *first,
        Declare(seen),
        Invoke(name, (Address(target, (ZERO,)), Load(x, (THREAD,))), (seen,)),
        Store(old, (THREAD,), seen),
        Invoke("syncthreads"),
        *((Store(y, (ZERO,), Load(tile, (ZERO,))),) if scope is Scope.SHARED else ()),
    )
    out, saw = np.full(len(values), start, of.numpy), np.zeros(len(values), of.numpy)
    launch(block((x, y, old), body, len(values)), values.astype(of.numpy), out, saw)
    return out[0], saw


@pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.SHARED])
@pytest.mark.parametrize("of", NUMBERS, ids=str)
def test_updates_are_not_lost(block, of, scope):
    values = np.arange(1, 49) % 7
    total, saw = run(block, "atomic_add", of, values, 3, scope)
    assert total == 3 + values.sum()
    assert len(set(saw.tolist())) == 1 + np.count_nonzero(values[:-1])
    assert run(block, "atomic_min", of, values, 3, scope)[0] == 0
    assert run(block, "atomic_max", of, values, 3, scope)[0] == 6
    last, saw = run(block, "atomic_exchange", of, values, 9, scope)
    chain = sorted([*saw.tolist(), float(last)])
    assert chain == sorted([9, *values.tolist()])


@pytest.mark.parametrize("name", ["atomic_min", "atomic_max"])
def test_nan_stays(block, name):
    values = np.array([1, np.nan, 2])
    assert np.isnan(run(block, name, f32, values, 0)[0])


@pytest.mark.parametrize("of", NUMBERS, ids=str)
def test_compare_and_swap_lets_one_win(block, of):
    y, won, old = Var("y", of[1,]), Var("won", i32[40,]), Var("old", of)
    mine = (THREAD + 1).cast(of)
    expected = constant(0, of)
    body = (
        Declare(old),
        Invoke("atomic_cas", (Address(y, (ZERO,)), expected, mine), (old,)),
        Store(won, (THREAD,), old.eq(expected).cast(i32)),
    )
    out, winners = np.zeros(1, of.numpy), np.zeros(40, np.int32)
    launch(block((y, won), body, 40), out, winners)
    assert winners.sum() == 1
    assert out[0] == np.argmax(winners) + 1


def test_the_value_has_the_type_of_the_element():
    y = Var("y", f32[1,])
    with pytest.raises(DtypeMismatch, match="i32"):
        INTRINSICS["atomic_add"].check(Invoke("atomic_add", (Address(y, (ZERO,)), ZERO)))
    with pytest.raises(DtypeMismatch, match="not a pointer"):
        INTRINSICS["atomic_add"].check(Invoke("atomic_add", (ZERO, ZERO)))


@pytest.mark.parametrize("of", NUMBERS, ids=str)
def test_text_compiles(block, assembled, of):
    y, tile = Var("y", ~of), Var("tile", TensorType(of, (32,), Scope.SHARED))
    body = [Declare(tile), Store(tile, (THREAD,), constant(0, of)), Invoke("syncthreads")]
    for target in (y, tile):
        at = Address(target, (THREAD,))
        for name in (*NAMES, "atomic_cas"):
            old = Var("old", of)
            values = (constant(1, of), THREAD.cast(of))[: 2 if name == "atomic_cas" else 1]
            body += [Declare(old), Invoke(name, (at, *values), (old,)), Invoke(name, (at, *values))]
            body.append(Store(y, (THREAD + 1,), old))
    assembled(block((y,), body))
