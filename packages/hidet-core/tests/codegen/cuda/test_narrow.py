"""Functions whose value is rounded to few bits: which are written cheaply, how right they are."""

import math

import numpy as np
import pytest

from hidet.codegen.cuda.narrow import ERFC, LINEAR, ON_HALVES, PARTS, WIDE_ERFC, narrowed
from hidet.codegen.cuda.prelude import prelude
from hidet.ir.expr import Cast, Div, Maximum, Mul, Var, constant, select
from hidet.ir.functions import call
from hidet.types import bf16, f16, f32

X = Var("x", f32)
ONE = constant(1.0, f32)
erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])


def rounded(e, to=f16):
    return str(narrowed(Cast(e, to)))


@pytest.mark.parametrize("to", [f16, bf16], ids=str)
def test_gelu_is_one_function(to):
    gelu = X * 0.5 * (1.0 + call("erf", X * 0.70710677))
    wide = "wide_" if to is bf16 else ""
    assert rounded(gelu, to) == f"{to.short}((x * {wide}normal_distribution(x)))"
    other = X * 0.5 * (call("tanh", X * 3.0) + 1.0)
    assert rounded(other, to) == f"{to.short}((x * logistic((x * 6.0))))"


def test_sigmoids():
    assert rounded(Div(ONE, 1.0 + call("exp", -X))) == "f16(logistic(x))"
    assert rounded(X / (1.0 + call("exp", -X))) == "f16((x * logistic(x)))"
    assert rounded(X / (1.0 + call("exp", X * 2.0))) == "f16((x * logistic((x * -2.0))))"


def test_factors_of_what_is_rounded():
    assert rounded(call("tanh", X)) == "f16(narrow_tanh(x))"
    assert rounded(-call("exp", X) * X) == "f16(((narrow_exp(x) * x) * -1.0))"
    assert rounded(X / 4.0) == "f16((x * 0.25))"
    assert "narrow_sqrt" in rounded(Maximum(call("sqrt", X), X))
    assert "narrow_exp" in rounded(select(X > 0.0, X, call("exp", X)))


def test_sums_and_what_stays_in_float32_are_as_they_were():
    for e in (call("tanh", X) + X, call("erf", X), X / X, 2.0 + call("exp", X)):
        assert narrowed(Cast(e, f16)) is Cast(e, f16)
    gelu = X * 0.5 * (1.0 + call("erf", X))
    assert narrowed(gelu) is gelu
    inner = Cast(Cast(call("tanh", X), f16), f32) + X
    assert str(narrowed(inner)) == "(f32(f16(narrow_tanh(x))) + x)"


def test_so_is_what_would_be_rounded_if_it_were_stored():
    """Its readers get float32, and functions of few bits more."""
    gelu = X * 0.5 * (1.0 + call("erf", X * 0.70710677))
    assert str(narrowed(call("near_float16", gelu) + X)) == "((x * normal_distribution(x)) + x)"
    wide = "((x * wide_normal_distribution(x)) + x)"
    assert str(narrowed(call("near_bfloat16", gelu) + X)) == wide
    both = call("near_float16", call("tanh", X)) * X
    assert rounded(both) == "f16((narrow_tanh(x) * x))"
    assert rounded(call("near_float16", X + call("tanh", X))) == "f16((x + tanh(x)))"


def test_numbers_that_would_leave_the_range_stay_apart():
    e = Mul(X, constant(1e-30, f32)) * Mul(X, constant(1e-30, f32))
    assert narrowed(Cast(e, f16)) is Cast(e, f16)


def test_shared_factors_are_looked_at_once():
    e = call("exp", X)
    for _ in range(200):
        e = e * e
    assert isinstance(narrowed(Cast(e, f16)), Cast)


def numbers(to):
    """Every finite number of a type, as float32."""
    bits = np.arange(65536, dtype=np.uint32)
    found = (bits << 16).view(np.float32)
    if to is f16:
        found = bits.astype(np.uint16).view(np.float16).astype(np.float32)
    return found[np.isfinite(found)]


def relative(found, exact, least):
    """The greatest error, relative where the result is at least `least`."""
    return float(np.max(np.abs(found - exact) / np.maximum(np.abs(exact), least)))


@pytest.mark.parametrize(
    ("to", "erfc_", "least", "error"),
    [(f16, ERFC, 2.0**-14, 2.0**-17), (bf16, WIDE_ERFC, 2.0**-120, 2.0**-13)],
    ids=str,
)
def test_the_tail_of_a_normal_distribution_for_every_number(to, erfc_, least, error):
    """The polynomial as a GPU evaluates it: each step rounded to float32."""
    x = numbers(to)
    x = x[np.abs(x) < 2.0**100]
    with np.errstate(over="ignore", invalid="ignore"):
        power = np.zeros_like(x)
        for exponent, each in reversed(list(enumerate(erfc_, 1))):
            factor = np.float32(each * 2 ** (-exponent / 2))
            power = (power.astype(np.float64) * np.abs(x) + factor).astype(np.float32)
        tail = np.exp2((power.astype(np.float64) * np.abs(x) - 1).astype(np.float32))
    found = x * np.where(x < 0, tail, 1 - tail).astype(np.float64)
    exact = x * 0.5 * erfc(-x.astype(np.float64) / math.sqrt(2))
    assert relative(found, exact, least) < error


def test_tanh_for_every_float16():
    x = numbers(f16)
    with np.errstate(over="ignore"):
        power = np.exp2(x * np.float32(2 * math.log2(math.e)))
        far = 1 - 2 / (1 + power)
    found = np.where(np.abs(x) < LINEAR, x, far)
    assert relative(found, np.tanh(x.astype(np.float64)), 2.0**-14) < 2.0**-15


def test_every_part_compiles(compile_cuda):
    kernels = "".join(
        f'extern "C" __global__ void test_{name}(float *x) {{ *x = {name}(*x); }}\n'
        for name in PARTS
    )
    compile_cuda(prelude(set(PARTS) | {"INLINE"}) + kernels)


def wide(of, name):
    return Cast(Var(name, of), f32)


def test_one_step_from_float16_to_float16_stays_there():
    a, b = wide(f16, "a"), wide(f16, "b")
    assert rounded(a * b) == "__hmul_rn(a, b)"
    assert rounded(a + b) == "__hadd_rn(a, b)"
    assert rounded(a - b) == "__hsub_rn(a, b)"
    assert rounded(a * 2.5) == "__hmul_rn(a, 2.5:f16)"
    assert rounded(Cast(Cast(a * b, f16), f32) * 0.5) == "__hmul_rn(__hmul_rn(a, b), 0.5:f16)"
    assert (
        rounded(Cast(Cast(call("tanh", a), f16), f32) * a)
        == "__hmul_rn(f16(narrow_tanh(f32(a))), a)"
    )


@pytest.mark.parametrize("of", [f16, bf16], ids=str)
def test_what_is_zero_where_negative_stays_in_its_type(of):
    a, b = wide(of, "a"), wide(of, "b")
    assert rounded(select(a <= 0.0, 0.0, a), of) == f"max(a, 0.0:{of.short})"
    if of is f16:
        assert rounded(select(a + b <= 0.0, 0.0, a + b)) == "max(__hadd_rn(a, b), 0.0:f16)"
    for e in (select(a <= 0.0, 0.0, b), select(a <= 1.0, 0.0, a), select(X <= 0.0, 0.0, X)):
        assert narrowed(Cast(e, of)) is Cast(e, of)


def test_other_steps_and_other_types_are_computed_in_float32():
    a, b = wide(f16, "a"), wide(f16, "b")
    for e in (a * b + a, a * X, a + 0.1, a + 1e9, Maximum(a, b), a / b, a * wide(bf16, "c")):
        assert narrowed(Cast(e, f16)) is Cast(e, f16)
    assert narrowed(Cast(a * b, bf16)) is Cast(a * b, bf16)
    c, d = wide(bf16, "c"), wide(bf16, "d")
    assert narrowed(Cast(c * d, bf16)) is Cast(c * d, bf16)


@pytest.mark.parametrize("step", [np.add, np.subtract, np.multiply])
def test_rounding_twice_by_way_of_float32_is_rounding_once(step):
    """Float64 holds these sums and products of float16 exactly."""
    random = np.random.default_rng(0)
    every = numbers(f16).astype(np.float16)
    a, b = (random.choice(every, 1_000_000) for _ in range(2))
    b[::2] = (a * random.choice(np.float16([1, -1, 0.999, 0.5]), a.shape))[::2]
    with np.errstate(over="ignore"):
        twice = step(a.astype(np.float32), b.astype(np.float32)).astype(np.float16)
        once = step(a.astype(np.float64), b.astype(np.float64)).astype(np.float16)
    assert np.array_equal(twice.view(np.uint16), once.view(np.uint16), equal_nan=False)


def test_what_is_computed_in_float16_compiles(compile_cuda):
    kernels = "".join(
        f'extern "C" __global__ void test{n}(f16 *x) {{ *x = {name}(*x, x[1]); }}\n'
        for n, name in enumerate(ON_HALVES.values())
    )
    compile_cuda(prelude({"f16", "INLINE", *ON_HALVES.values()}) + kernels)
