"""What quantization computes has a name; what else looks like it does not."""

import itertools

import numpy as np
import pytest

from hidet.ir.expr import Builtin, Cast, Const, Load, Var, constant, wrap
from hidet.ir.functions import call, clamped
from hidet.ir.kernel import Kernel, KernelKind, Launch
from hidet.ir.stmt import For, Store
from hidet.ir.walk import rebuild_body
from hidet.passes.arithmetic.round_quotients import round_quotients
from hidet.passes.pipeline import lower
from hidet.sim import launch
from hidet.types import f32, i8, i32, u8

SIZE = 129
INDEX = Builtin("threadIdx.x")
x, s, z = Var("x", f32[SIZE]), Var("s", f32[1]), Var("z", u8[1])
SCALE, ZERO = Load(s, (wrap(0),)), Load(z, (wrap(0),))


def number(value):
    return constant(value, f32)


def quantized(zero=None, low=0.0, high=255.0, to=u8, scale=SCALE):
    found = call("rint", Load(x, (INDEX,)) / scale)
    found = found if zero is None else found + zero
    return Cast(clamped(found, number(low), number(high)), to)


def kernel(value, to):
    one = Const(1, i32)
    y = Var("y", to[SIZE])
    shape = Launch((one, one, one), (Const(SIZE, i32), one, one))
    return Kernel("k", (x, s, z, y), (Store(y, (INDEX,), value),), launch=shape)


def written(value, to=u8):
    return str(round_quotients(kernel(value, to))).partition(" = ")[2].strip()


def dequantized(byte, zero):
    return (byte.cast(i32) - zero).cast(f32) * SCALE


def test_a_quotient_within_bounds_has_a_name():
    quotient = "rounded_quotient(x[threadIdx.x], s[0], {}, {})"
    assert written(quantized()) == f"u8({quotient.format('0.0', '255.0')})"
    assert written(quantized(number(3.0))) == f"u8(({quotient.format('-3.0', '252.0')} + 3))"
    assert written(quantized(Const(3, u8).cast(f32))) == written(quantized(number(3.0)))
    shifted = quotient.format("(0.0 - f32(z[0]))", "(255.0 - f32(z[0]))")
    assert written(quantized(ZERO.cast(f32))) == f"u8(({shifted} + i32(z[0])))"
    whole = quantized(scale=number(1.0))
    assert written(whole) == "u8(rounded_quotient(x[threadIdx.x], 1.0, 0.0, 255.0))"


@pytest.mark.parametrize("zero", [0, 3])
def test_what_is_dequantized_in_the_same_kernel_is_no_byte(zero):
    byte = quantized(number(float(zero)))
    bounds = f"{float(-zero)}, {float(255 - zero)}"
    found = written(dequantized(byte, Const(zero, u8).cast(i32)), f32)
    assert found == f"(f32(rounded_quotient(x[threadIdx.x], s[0], {bounds})) * s[0])"


def test_a_byte_that_does_not_hold_the_value_stays():
    value = quantized(low=-128.0, high=127.0)
    assert "i32(u8(rounded" in written(value.cast(i32).cast(f32), f32)


@pytest.mark.parametrize(
    "value",
    [
        quantized(high=300.0, to=i32),
        quantized(number(-2.0)),
        quantized(number(0.5)),
        quantized(low=0.5),
        quantized(ZERO.cast(f32), low=-128.0, high=127.0, to=i8),
        Cast(call("rint", Load(x, (INDEX,)) / SCALE), u8),
        Cast(clamped(Load(x, (INDEX,)), number(0.0), number(255.0)), u8),
    ],
    ids=["bounds", "zero", "half_a_zero", "half_a_bound", "another_zero", "no_bounds", "no_rint"],
)  # fmt: skip
def test_what_is_not_known_to_be_right_stays(value):
    before = kernel(value, value.to)
    assert round_quotients(before) is before


def on_cpu(value, to):
    y, i = Var("y", to[SIZE]), Var("i", i32)
    body = rebuild_body((Store(y, (INDEX,), value),), lambda e: i if e is INDEX else e)
    body = (For(i, wrap(SIZE), body),)
    return Kernel("k", (x, s, z, y), body, KernelKind.CPU)


def test_cpus_bound_a_quotient_before_and_after_it_is_rounded():
    byte = quantized(number(3.0), scale=number(1.0))
    text = str(round_quotients(on_cpu(byte, u8)))
    assert "i32(rint((x[i] if (x[i] < 252.0) else 252.0)))" in text
    assert "rounded_quotient" not in text
    again = str(round_quotients(on_cpu(dequantized(byte, constant(3, i32)), f32)))
    assert "u8(" not in again


@pytest.mark.parametrize("scale", [0.37, -0.5, 0.0, 2.0**-149, 3e38, np.inf, np.nan])
def test_a_kernel_keeps_its_meaning(scale):
    """Near to ties, beyond the bounds, and of what is no number."""
    random = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        values = (random.integers(-600, 600, SIZE) / 2 * np.float32(scale)).astype(np.float32)
    values[:5] = np.inf, -np.inf, np.nan, 0.0, -0.0
    given = values, np.array([scale], np.float32), np.array([7], np.uint8)
    byte = quantized(ZERO.cast(f32))
    cases = (byte, u8), (dequantized(byte, ZERO.cast(i32)), f32)
    for (value, to), made in itertools.product(cases, (kernel, on_cpu)):
        before = made(value, to)
        found = []
        for each in (before, round_quotients(before), lower(before)):
            y = np.zeros(SIZE, to.numpy)
            launch(each, *given, y)
            found.append(y)
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])
