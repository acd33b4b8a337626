"""Expressions mean in kernels what they mean in numpy, at their own type."""

import numpy as np
import pytest

from hidet.ir.expr import (
    Builtin,
    Cast,
    Const,
    FloorDiv,
    FloorMod,
    Lane,
    Load,
    Maximum,
    Minimum,
    Pack,
    Reinterpret,
    Splat,
    TruncDiv,
    TruncMod,
    Var,
    select,
    wrap,
)
from hidet.ir.functions import FUNCTIONS, call
from hidet.ir.kernel import ONE, Kernel, KernelKind, Launch
from hidet.ir.stmt import Declare, Store
from hidet.sim import OutOfBounds, launch
from hidet.types import (
    DTYPES,
    VectorType,
    bf16,
    boolean,
    dtype,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    tf32,
    u8,
    u16,
    u32,
)

THREAD = Builtin("threadIdx.x")


def each(compute, *arrays, result=None):
    """`compute` of the elements of the arrays, one thread for each."""
    count = len(arrays[0])
    inputs = [Var(f"x{n}", dtype(a.dtype)[count,]) for n, a in enumerate(arrays)]
    value = compute(*(Load(x, (THREAD,)) for x in inputs))
    y = Var("y", (result or value.dtype)[count,])
    sizes = (ONE, ONE, ONE), (Const(count, i32), ONE, ONE)
    body = (Store(y, (THREAD,), value),)
    out = np.zeros(count, y.dtype.numpy)
    launch(Kernel("each", (*inputs, y), body, KernelKind.CUDA, Launch(*sizes)), *arrays, out)
    return out


NUMBERS = np.array([-7, -4, -1, 0, 1, 3, 7, 100], np.int64)
DIVISORS = np.array([2, -3, 5, 7, -1, 2, -2, 8], np.int64)


@pytest.mark.parametrize("of", [i8, i32, i64], ids=str)
def test_division_rounds_down_or_toward_zero(of):
    a, b = NUMBERS.astype(of.numpy), DIVISORS.astype(of.numpy)
    pairs = list(zip(NUMBERS.tolist(), DIVISORS.tolist(), strict=True))
    assert each(FloorDiv, a, b).tolist() == [p // q for p, q in pairs]
    assert each(FloorMod, a, b).tolist() == [p % q for p, q in pairs]
    assert each(TruncDiv, a, b).tolist() == [int(p / q) for p, q in pairs]
    assert each(TruncMod, a, b).tolist() == [p - int(p / q) * q for p, q in pairs]


def test_integers_wrap():
    big = np.array([2**31 - 1, -(2**31)], np.int32)
    assert each(lambda x: x + 1, big).tolist() == [-(2**31), -(2**31) + 1]
    assert each(lambda x: x * 2, big).tolist() == [-2, 0]
    assert each(lambda x: x - wrap(1, u8), np.array([0, 5], np.uint8)).tolist() == [255, 4]


@pytest.mark.parametrize("of", [f16, bf16, f32, f64], ids=str)
def test_floats_round_at_each_operation(of):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal(64).astype(of.numpy), rng.standard_normal(64).astype(of.numpy)
    found = each(lambda x, y: x * y + x, a, b)
    np.testing.assert_array_equal(found, (a * b) + a)
    assert found.dtype == of.numpy


@pytest.mark.parametrize("of", [f16, bf16, f32], ids=str)
def test_nan_wins_in_minimum_and_maximum(of):
    a = np.array([1, np.nan, 3, np.nan]).astype(of.numpy)
    b = np.array([2, 2, np.nan, np.nan]).astype(of.numpy)
    for kind in (Minimum, Maximum):
        assert np.isnan(each(kind, a, b).astype(np.float32)).tolist() == [False, True, True, True]


@pytest.mark.parametrize("name", list(FUNCTIONS))
@pytest.mark.parametrize("of", [f32, f16], ids=str)
def test_functions(name, of):
    function = FUNCTIONS[name]
    rng = np.random.default_rng(5)
    args = [rng.uniform(0.1, 0.9, 32).astype(of.numpy) for _ in range(function.arity)]
    found = each(lambda *xs: call(name, *xs), *args)
    with np.errstate(invalid="ignore"):
        expected = np.asarray(function.numpy(*args)).astype(found.dtype)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("to", DTYPES, ids=str)
@pytest.mark.parametrize("of", [f32, i32, u16, bf16], ids=str)
def test_casts_of_small_numbers(of, to):
    values = np.array([0, 1, 2, 3, 7]).astype(of.numpy)
    found = each(lambda x: Cast(x, to), values, result=to)
    with np.errstate(invalid="ignore"):  # an exponent alone has no zero
        wanted = values.astype(to.numpy)
        np.testing.assert_array_equal(found.astype(np.float64), wanted.astype(np.float64))


def test_floats_become_integers_toward_zero_and_stay_in_range():
    values = np.array([-1.9, 1.9, 3e9, -3e9, np.nan, np.inf], np.float32)
    found = each(lambda x: Cast(x, i32), values)
    assert found.tolist() == [-1, 1, 2**31 - 1, -(2**31), 0, 2**31 - 1]
    assert each(lambda x: Cast(x, u8), values).tolist() == [0, 1, 255, 0, 0, 255]


def test_tf32_keeps_ten_bits():
    values = np.array([1 + 2**-10, 1 + 2**-11, 1 + 2**-12, -(1 + 2**-11)], np.float32)
    found = each(lambda x: Cast(x, tf32), values, result=tf32)
    assert found.tolist() == [1 + 2**-10, 1 + 2**-10, 1, -(1 + 2**-10)]


def test_shifts_and_bits():
    a = np.array([-8, 7, 1, 255], np.int32)
    assert each(lambda x: x >> 1, a).tolist() == [-4, 3, 0, 127]
    assert each(lambda x: (x << 4) ^ 3, a).tolist() == [(v << 4) ^ 3 for v in a.tolist()]
    assert each(lambda x: ~x & 0xFF, a).tolist() == [~v & 0xFF for v in a.tolist()]


def test_the_side_not_chosen_is_not_evaluated():
    x = Var("x", f32[4,])
    y = Var("y", f32[8,])
    sizes = (ONE, ONE, ONE), (Const(8, i32), ONE, ONE)

    def run(value):
        out = np.zeros(8, np.float32)
        body = (Store(y, (THREAD,), value),)
        kernel = Kernel("lazy", (x, y), body, KernelKind.CUDA, Launch(*sizes))
        launch(kernel, np.ones(4, np.float32), out)
        return out.tolist()

    load = Load(x, (THREAD,))
    assert run(select(THREAD < 4, load, 0.0)) == [1.0] * 4 + [0.0] * 4
    guarded = (THREAD < 4) & (load > 0)
    assert run(guarded.cast(f32)) == [1.0] * 4 + [0.0] * 4
    either = (THREAD >= 4) | (load > 0)
    assert run(either.cast(f32)) == [1.0] * 8
    with pytest.raises(OutOfBounds):
        run(select(THREAD < 5, load, 0.0))


def test_bits_reinterpreted():
    x = np.array([1.0, -2.5, 0.0], np.float32)
    np.testing.assert_array_equal(each(lambda v: Reinterpret(v, u32), x), x.view(np.uint32))
    h = np.array([1.0, -2.0], np.float16)
    pair = lambda v: Reinterpret(Pack((v, wrap(0.0, f16))), u32)
    np.testing.assert_array_equal(each(pair, h), h.view(np.uint16).astype(np.uint32))
    word = np.array([0x3C004000], np.uint32)
    halves = lambda v: Lane(Reinterpret(v, VectorType(f16, 2)), 1)
    assert each(halves, word).tolist() == [1.0]


@pytest.mark.parametrize("of", [f32, f16, i32], ids=str)
def test_vectors_lane_by_lane(of):
    x, y = Var("x", of[8, 4]), Var("y", of[8, 4])
    v, b = Var("v", VectorType(of, 4)), Var("b", VectorType(boolean, 4))
    sizes = (ONE, ONE, ONE), (Const(8, i32), ONE, ONE)
    zero = Const(0, i32)
    body = (
        Declare(v, Load(x, (THREAD, zero), 4)),
        Declare(b, v < Splat(wrap(2, of), 4)),
        Store(y, (THREAD, zero), select(b, v * Splat(wrap(3, of), 4), v + v)),
    )
    a, out = np.arange(-16, 16).reshape(8, 4).astype(of.numpy), np.zeros((8, 4), of.numpy)
    launch(Kernel("vectors", (x, y), body, KernelKind.CUDA, Launch(*sizes)), a, out)
    np.testing.assert_array_equal(out, np.where(a < 2, a * 3, a + a))
