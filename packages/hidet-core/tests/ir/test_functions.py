"""Pure functions by name."""

import math

import pytest

from hidet.errors import BadArgument
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Math, Var, wrap
from hidet.ir.functions import FUNCTIONS, call
from hidet.types import boolean, f16, f32, f64, i32


def test_integers_become_floats_where_the_function_needs_it():
    assert call("exp", Var("i", i32)).type is f32
    assert call("abs", Var("i", i32)).type is i32


def test_operands_get_one_type():
    e = call("pow", Var("h", f16), Var("x", f32))
    assert isinstance(e, Math)
    assert {a.type for a in e.args} == {f32}


def test_predicates_are_bool():
    assert call("isnan", Var("x", f32)).type is boolean


def test_unknown_names_and_wrong_counts():
    with pytest.raises(BadArgument, match="no function"):
        call("expo", 1.0)
    with pytest.raises(BadArgument, match="2 operands"):
        call("pow", 1.0)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_has_its_meaning(name):
    given = {1: (0.5,), 2: (0.5, 2.0), 3: (0.5, 2.0, 3.0)}[FUNCTIONS[name].arity]
    given = (1.5,) if name == "acosh" else given
    python = {
        "rsqrt": lambda v: 1 / math.sqrt(v),
        "rint": round,
        "exp2_approx": lambda v: 2**v,
        "exp_nonpositive": math.exp,
        "abs": abs,
        "asin": math.asin,
        "signbit": lambda v: v < 0,
        "fma": lambda a, b, c: a * b + c,
        "near_float16": lambda v: v,
        "near_bfloat16": lambda v: v,
    }
    expected = python.get(name) or getattr(math, name)
    found = evaluate(call(name, *(wrap(v, f64) for v in given)))
    assert found == pytest.approx(expected(*given), rel=1e-12)
