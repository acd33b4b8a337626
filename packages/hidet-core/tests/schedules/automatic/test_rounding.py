"""What of a value matters to few bits only."""

import pytest

from hidet.ir.expr import Var, convert
from hidet.ir.functions import call
from hidet.schedules.automatic.cuda.rounding import only_rounded
from hidet.types import bf16, f16, f32

P, S, X = (Var(name, f32) for name in "psx")
PARTS = {P, S}


@pytest.mark.parametrize(
    "value",
    [
        convert(P / S, f16),
        convert(X * (P / S), bf16),
        convert(P * X, f16) + convert(X, f16),
        convert(convert(P / S, f16), f32) - X,  # what is rounded may be anything
        call("near_float16", P / S) - X,
        X,
    ],
)
def test_factors_and_divisors(value):
    assert only_rounded(value, PARTS)


@pytest.mark.parametrize(
    "value",
    [
        P,
        P / S,
        call("near_float16", P - X),
        convert(P - X, f16),
        convert((P + X) / S, f16),
        convert(convert(P, f16), f32) + P,
    ],
)
def test_sums_and_what_is_not_rounded(value):
    assert not only_rounded(value, PARTS)
