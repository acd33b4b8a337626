"""Values of expressions, by numpy's rules."""

import math

import numpy as np
import pytest

from hidet.errors import BadArgument
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import (
    Add,
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
    constant,
    select,
    wrap,
)
from hidet.types import boolean, f16, f32, f64, i8, i32, u8, u32

i = Var("i", i32)
nan = float("nan")


@pytest.mark.parametrize("a", range(-7, 8))
@pytest.mark.parametrize("b", [-3, -1, 1, 2, 5])
def test_divisions(a, b):
    x, y = wrap(a), wrap(b)
    assert evaluate(FloorDiv(x, y)) == a // b
    assert evaluate(FloorMod(x, y)) == a % b
    assert evaluate(TruncDiv(x, y)) == int(a / b)
    assert evaluate(TruncMod(x, y)) == math.fmod(a, b)


def test_integers_wrap():
    assert evaluate(Add(Const(127, i8), Const(1, i8))) == -128
    assert evaluate(Const(0, u8) - Const(1, u8)) == 255
    assert evaluate(Const(2**31 - 1, i32) * 2) == -2
    assert evaluate(Cast(Const(-1, i32), u32)) == 2**32 - 1


def test_narrow_floats_round_after_each_operation():
    third = constant(1 / 3, f16)
    assert evaluate(third * third) == float(np.float16(1 / 3) * np.float16(1 / 3))
    assert evaluate(Const(2048.0, f16) + Const(1.0, f16)) == 2048.0


def test_minimum_and_maximum_give_nan_if_either_is():
    for kind in (Minimum, Maximum):
        assert math.isnan(evaluate(kind(Const(nan, f32), Const(1.0, f32))))
        assert math.isnan(evaluate(kind(Const(1.0, f32), Const(nan, f32))))
    assert evaluate(Minimum(wrap(2), wrap(3))) == 2


def test_float_division_by_zero_is_infinite_and_integer_division_is_refused():
    assert evaluate(Const(1.0, f32) / 0.0) == math.inf
    for e in (i // 0, i % 0, TruncDiv(i, wrap(0)), TruncMod(i, wrap(0))):
        with pytest.raises(BadArgument, match="zero"):
            evaluate(e, {i: 1})


def test_what_is_not_chosen_is_not_evaluated():
    assert evaluate(select(i.eq(0), 7, 1 // i), {i: 0}) == 7
    assert evaluate(i.ne(0) & (1 // i > 0), {i: 0}) is False
    assert evaluate(i.eq(0) | (1 // i > 0), {i: 0}) is True
    assert evaluate(i.ne(0) & (1 // i > 0), {i: 1}) is True


def test_casts():
    assert evaluate(Cast(Const(-1.7, f32), i32)) == -1
    assert evaluate(Cast(Const(nan, f32), boolean)) is True
    assert evaluate(Cast(wrap(3), f64)) == 3.0
    assert evaluate(Reinterpret(Const(1.0, f32), i32)) == 0x3F800000


def test_vectors():
    pair = Pack((wrap(1.5), wrap(2.5)))
    assert evaluate(pair + Splat(wrap(1.0), 2)) == (2.5, 3.5)
    assert evaluate(Lane(pair, 1)) == 2.5


def test_what_is_unknown_is_refused():
    for e in (i + 1, Load(Var("t", f32[4]), (wrap(0),))):
        with pytest.raises(BadArgument, match="not known"):
            evaluate(e)


def test_shifts_and_bits():
    assert evaluate(Const(-8, i32) >> 1) == -4
    assert evaluate(wrap(3) << 4) == 48
    assert evaluate((wrap(6) & 3) | 8) == 10
    assert evaluate(wrap(6) ^ 3) == 5
    assert evaluate(~wrap(6)) == -7
    assert evaluate(-wrap(6)) == -6
