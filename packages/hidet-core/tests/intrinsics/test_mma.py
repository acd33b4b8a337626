"""mma.sync in all its forms against float64 products, and its text."""

import numpy as np
import pytest
from by_hand import c, registers

from hidet.errors import BadKernel
from hidet.intrinsics import INTRINSICS
from hidet.intrinsics.tensor_cores.mma import PRODUCTS
from hidet.ir.expr import Address, Const, Load, Var
from hidet.ir.stmt import Declare, If, Invoke, Store
from hidet.sim import DivergentBarrier, launch
from hidet.types import f16, f32, i8, i32, tf32

from .by_lane import LANE, THREAD, moved, start

KEYS = list(PRODUCTS)


def fragment_kernel(block, key, *options):
    """Each lane loads its values by number, multiplies, stores its values by number."""
    shape, *types = key
    product = PRODUCTS[key]
    counts = product.a.values, product.b.values, product.c.values
    given = list(zip("xyz", "abd", types, counts, strict=True))
    params = [Var(n, of[32, count]) for n, _, of, count in given]
    held = [registers(n, of, count) for _, n, of, count in given]
    body = [*map(Declare, held)]
    for own, source, count in zip(held, params, counts, strict=True):
        fill = lambda i, own=own, source=source: Store(own, (i,), Load(source, (LANE, i)))
        body.append(moved(fill, count))
    body.append(Invoke("mma_sync", tuple(map(start, held)), (), (shape, *options)))
    body.append(moved(lambda i: Store(params[2], (LANE, i), Load(held[2], (i,))), counts[2]))
    return block(params, body), product


def random(rng, shape, of):
    """Numbers of a type; tf32 has only bits that the hardware keeps."""
    if of.is_integer:
        return rng.integers(of.limits[0], of.limits[1], shape, endpoint=True).astype(of.numpy)
    found = rng.standard_normal(shape).astype(of.numpy)
    return (found.view(np.uint32) & 0xFFFFE000).view(np.float32) if of is tf32 else found


def multiply(block, key, a, b, s, *options):
    """The sum after the kernel, as a tile."""
    kernel, product = fragment_kernel(block, key, *options)
    held = product.c.held(s[None])[0]
    launch(kernel, product.a.held(a[None])[0], product.b.held(b[None])[0], held)
    return product.c.tile(held[None])[0]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_products(block, key):
    _, left, right, into = key
    product, rng = PRODUCTS[key], np.random.default_rng(1)
    a, b = random(rng, product.a.shape, left), random(rng, product.b.shape, right)
    s = random(rng, product.c.shape, f32).astype(into.numpy)
    found = multiply(block, key, a, b, s).astype(np.float64)
    exact = s.astype(np.float64) + a.astype(np.float64) @ b.astype(np.float64)
    if into.is_integer or into.bits == 64:
        np.testing.assert_allclose(found, exact, rtol=1e-15)
    else:
        np.testing.assert_array_equal(found, exact.astype(np.float32).astype(into.numpy))


def test_tf32_operands_lose_their_last_bits(block):
    key = ("m16n8k8", tf32, tf32, f32)
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((16, 8), (8, 8)))
    cut = [(t.view(np.uint32) & 0xFFFFE000).view(np.float32) for t in (a, b)]
    zero = np.zeros((16, 8), np.float32)
    np.testing.assert_array_equal(
        multiply(block, key, a, b, zero), multiply(block, key, *cut, zero)
    )


def test_integers_wrap_around_or_stop_at_the_limit(block):
    key = ("m16n8k32", i8, i8, i32)
    a, b = np.full((16, 32), 127, np.int8), np.full((32, 8), 127, np.int8)
    s = np.full((16, 8), 2**31 - 1, np.int32)
    wrapped = multiply(block, key, a, b, s)
    assert (wrapped == 2**31 - 1 + 32 * 127 * 127 - 2**32).all()
    assert (multiply(block, key, a, b, s, "saturate") == 2**31 - 1).all()
    assert (multiply(block, key, a, -b, -s, "saturate") == -(2**31)).all()


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
    check = INTRINSICS["mma_sync"].check
    operands = (start(a), start(a), start(d))
    with pytest.raises(BadKernel, match="there is no mma_sync m16n8k32 of f16 and f16 into f32"):
        check(Invoke("mma_sync", operands, (), ("m16n8k32",)))
    with pytest.raises(BadKernel, match="no option 'saturate' for sums in f32"):
        check(Invoke("mma_sync", operands, (), ("m16n8k16", "saturate")))


@pytest.mark.parametrize("left", sorted({key[1] for key in KEYS}, key=str), ids=str)
def test_text_compiles(block, assembled, left):
    """All products of a type of left operands in one kernel."""
    into = [key for key in KEYS if key[1] is left]
    body, params = [], []
    for number, key in enumerate(into):
        product = PRODUCTS[key]
        counts = product.a.values, product.b.values, product.c.values
        a, b, d = (
            registers(f"{n}{number}", of, count)
            for n, of, count in zip("abd", key[1:], counts, strict=True)
        )
        y = Var(f"y{number}", ~key[3])
        params.append(y)
        body += [Declare(v, Const(1, v.dtype)) for v in (a, b, d)]
        for options in ((), ("saturate",))[: 2 if key[3] is i32 else 1]:
            call = (start(a), start(b), start(d)), (), (key[0], *options)
            body.append(Invoke("mma_sync", *call))
        body.append(Store(y, (THREAD,), Load(d, (c(0),)) + Load(d, (c(1),))))
    text = assembled(block(params, body))
    assert all(key[0] in text for key in into)


def test_registers_that_are_too_few():
    check = INTRINSICS["mma_sync"].check
    a, b, d = registers("a", f16, 8), registers("b", f16, 4), registers("d", f32, 6)
    check(Invoke("mma_sync", (start(a), start(b), Address(d, (c(2),))), (), ("m16n8k16",)))
    with pytest.raises(BadKernel, match=r"operand 2 of mma_sync is 4 elements .* has 3"):
        check(Invoke("mma_sync", (start(a), start(b), Address(d, (c(3),))), (), ("m16n8k16",)))
