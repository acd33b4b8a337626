"""Which divisions become products."""

import pytest

from hidet.compute import Input
from hidet.compute.functions import exp
from hidet.ir.expr import Div, Mul
from hidet.ir.walk import find
from hidet.schedules.automatic.plan import plan
from hidet.schedules.automatic.reciprocal import by_reciprocals
from hidet.types import f32


def value_of(function):
    x = Input("x", f32[4, 32])
    (stage,) = plan([x], [function(x)]).stages
    return stage.value


def test_powers_over_their_sum():
    def softmax(x):
        powers = exp(x - x.max((1,)))
        return powers / powers.sum((1,))

    value = by_reciprocals(value_of(softmax))
    assert isinstance(value, Mul)
    (division,) = find(value, Div)
    assert division.a.value == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x / x.sum((1,)),
        lambda x: exp(x) / exp(x).sum((1,)),
        lambda x: x / x.max((1,)),
        lambda x: exp(x - x.min((1,))) / exp(x - x.min((1,))).sum((1,)),
        lambda x: x / exp(x - (x + x).max((1,))).sum((1,)),
        lambda x: x / 3.0,
    ],
)
def test_what_may_be_tiny_or_huge_is_divided_by(function):
    value = value_of(function)
    assert by_reciprocals(value) is value
