"""Sizes in the form of launch plans say what the expressions say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hidet.build.choosing.sizes import plan_size
from hidet.errors import InternalError
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Maximum, Minimum, Var, combine, select
from hidet.runtime.plans.sizes import evaluate as runtime_size
from hidet.types import f32, i32

N = Var("n", i32)


def sizes():
    leaf = st.one_of(st.just(N), st.integers(1, 9))

    def pairs(inner):
        build = st.sampled_from(
            [
                lambda a, b: a + b,
                lambda a, b: a * b,
                lambda a, b: a // (b * b + 1),
                lambda a, b: a % (b * b + 1),
                lambda a, b: combine(Minimum, a, b),
                lambda a, b: combine(Maximum, a, b),
            ]
        )
        return st.builds(lambda f, a, b: f(a, b), build, inner, inner)

    return st.recursive(leaf, pairs, max_leaves=6)


@given(size=sizes(), n=st.integers(1, 40))
def test_the_plan_evaluates_as_the_expression(size, n):
    wanted = size if isinstance(size, int) else int(evaluate(size, {N: n}))
    assert runtime_size(plan_size(size), {"n": n}) == wanted


def test_what_a_plan_cannot_say_is_refused():
    with pytest.raises(InternalError, match="cannot be a size"):
        plan_size(select(N > 3, N, 2))


def test_a_negative_size_is_a_difference():
    assert plan_size(-N) == ["-", 0, "n"]
    assert runtime_size(plan_size(-combine(Minimum, 0, N * 2)), {"n": 3}) == 0


def test_a_scaled_size_keeps_its_factor():
    scaled = (N.cast(f32) * 0.5).cast(i32) + 1
    assert plan_size(scaled) == ["+", ["scale", "n", "0x1.0000000000000p-1"], 1]
    assert runtime_size(plan_size(scaled), {"n": 7}) == 4
