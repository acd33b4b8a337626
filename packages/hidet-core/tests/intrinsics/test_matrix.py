"""Tensor-core products and the moves of their operands against numpy."""

import numpy as np
import pytest

from hidet.errors import BadKernel
from hidet.intrinsics import INTRINSICS
from hidet.intrinsics.matrix import PRODUCTS
from hidet.ir.expr import Address, Builtin, Const, Load, Var
from hidet.ir.stmt import Declare, For, If, Invoke, Store
from hidet.mapping import fragments
from hidet.sim import DivergentBarrier, launch
from hidet.types import Scope, TensorType, f16, f32, i8, i32, tf32, u16

LANE, THREAD = Builtin("laneid"), Builtin("threadIdx.x")


def c(value):
    return Const(value, i32)


def registers(name, of, count):
    return Var(name, TensorType(of, (count,), Scope.REGISTER))


def start(array):
    return Address(array, (c(0),))


def moved(body_of, count):
    i = Var("i", i32)
    return For(i, c(count), (body_of(i),))


def fragment_kernel(block, shape, of, into):
    """Each lane loads its values by number, multiplies, stores its values by number."""
    product = PRODUCTS[shape, of, into]
    counts = product.a.values, product.b.values, 4
    x, y, z = (
        Var(n, t[32, count]) for n, t, count in zip("xyz", (of, of, into), counts, strict=True)
    )
    a, b, d = (
        registers(n, t, count) for n, t, count in zip("abd", (of, of, into), counts, strict=True)
    )
    body = [*map(Declare, (a, b, d))]
    for own, source, count in zip((a, b, d), (x, y, z), counts, strict=True):
        fill = lambda i, own=own, source=source: Store(own, (i,), Load(source, (LANE, i)))
        body.append(moved(fill, count))
    body.append(Invoke("mma_sync", (start(a), start(b), start(d)), (), (shape,)))
    body.append(moved(lambda i: Store(z, (LANE, i), Load(d, (i,))), 4))
    return block((x, y, z), body), product


@pytest.mark.parametrize("key", list(PRODUCTS), ids=str)
def test_products(block, key):
    _, of, into = key
    kernel, product = fragment_kernel(block, *key)
    rng = np.random.default_rng(1)
    a = rng.standard_normal(product.a.shape).astype(of.numpy)
    b = rng.standard_normal(product.b.shape).astype(of.numpy)
    if of is tf32:  # leave only bits that the hardware keeps
        a, b = ((t.view(np.uint32) & 0xFFFFE000).view(np.float32) for t in (a, b))
    s = rng.standard_normal((16, 8)).astype(into.numpy)
    held = product.c.held(s[None])[0]
    launch(kernel, product.a.held(a[None])[0], product.b.held(b[None])[0], held)
    exact = s.astype(np.float64) + a.astype(np.float64) @ b.astype(np.float64)
    found = product.c.tile(held[None])[0].astype(np.float64)
    np.testing.assert_allclose(found, exact, atol=1e-5 if into is f32 else 8e-3)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_ldmatrix_and_stmatrix(block, count, transposed):
    """Loading gives the layout that the mapping states; storing it again gives the tiles."""
    x, held, back = Var("x", f16[32, 8]), Var("held", f16[32, 2 * count]), Var("back", f16[32, 8])
    tile, other = (Var(n, TensorType(f16, (32, 8), Scope.SHARED)) for n in ("tile", "other"))
    own = registers("own", f16, 2 * count)
    options = (count, transposed)
    body = (
        *map(Declare, (tile, other, own)),
        moved(lambda i: Store(tile, (LANE, i), Load(x, (LANE, i))), 8),
        moved(lambda i: Store(other, (LANE, i), Load(x, (LANE, i))), 8),
        Invoke("syncwarp"),
        Invoke("ldmatrix", (start(own), Address(tile, (LANE, c(0)))), (), options),
        moved(lambda i: Store(held, (LANE, i), Load(own, (i,))), 2 * count),
        Invoke("stmatrix", (Address(other, (LANE, c(0))), start(own)), (), options),
        Invoke("syncwarp"),
        moved(lambda i: Store(back, (LANE, i), Load(other, (LANE, i))), 8),
    )
    values = np.arange(256).reshape(32, 8).astype(np.float16)
    out, again = np.zeros((32, 2 * count), np.float16), np.zeros((32, 8), np.float16)
    launch(block((x, held, back), body), values, out, again)
    np.testing.assert_array_equal(again, values)
    fragment = fragments.ldmatrix(count, transposed=transposed)
    tiles = values.reshape(4, 8, 8)
    for lane in range(32):
        for value in range(2 * count):
            assert out[lane, value] == tiles[fragment(lane, value)]


def test_lanes_that_stay_away_are_reported(block):
    d = registers("d", f32, 4)
    a, b = registers("a", f16, 8), registers("b", f16, 4)
    zero = Const(0.0, f16)
    call = Invoke("mma_sync", (start(a), start(b), start(d)), (), ("m16n8k16",))
    declared = Declare(a, zero), Declare(b, zero), Declare(d, Const(0.0, f32))
    with pytest.raises(DivergentBarrier, match="lane 31"):
        launch(block((), (*declared, If(LANE < 31, (call,)))))
    launch(block((), (*declared, call)))


def test_products_that_do_not_exist():
    a, d = registers("a", f16, 8), registers("d", f32, 4)
    call = Invoke("mma_sync", (start(a), start(a), start(d)), (), ("m16n8k32",))
    with pytest.raises(BadKernel, match="there is no mma_sync m16n8k32"):
        INTRINSICS["mma_sync"].check(call)
    wide = registers("wide", i8, 8)
    with pytest.raises(Exception, match="i8"):
        INTRINSICS["ldmatrix"].check(Invoke("ldmatrix", (start(wide), start(a)), (), (1, False)))


@pytest.mark.parametrize("key", list(PRODUCTS), ids=str)
def test_text_of_products_compiles(block, assembled, key):
    shape, of, into = key
    product = PRODUCTS[key]
    y = Var("y", ~into)
    a, b, d = (
        registers("a", of, product.a.values),
        registers("b", of, product.b.values),
        registers("d", into, 4),
    )
    body = (
        *(Declare(v, Const(1.0, v.dtype)) for v in (a, b, d)),
        Invoke("mma_sync", (start(a), start(b), start(d)), (), (shape,)),
        Store(y, (THREAD,), Load(d, (c(0),)) + Load(d, (c(3),))),
    )
    assert shape in assembled(block((y,), body))


@pytest.mark.parametrize("of", [f16, u16], ids=str)
def test_text_of_moves_compiles(block, assembled, of):
    y, tile = Var("y", ~of), Var("tile", TensorType(of, (256,), Scope.SHARED))
    own = registers("own", of, 8)
    body = [Declare(tile), Declare(own)]
    for count in (1, 2, 4):
        for transposed in (False, True):
            row, held = Address(tile, (THREAD * 8,)), start(own)
            body.append(Invoke("ldmatrix", (held, row), (), (count, transposed)))
            body.append(Invoke("stmatrix", (row, held), (), (count, transposed)))
    body.append(Store(y, (THREAD,), Load(own, (c(1),))))
    assembled(block((y,), body))
