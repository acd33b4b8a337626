"""Places in row-major order."""

import itertools
from math import prod

import pytest

from hidet.compute.places import ravel, unravel
from hidet.compute.sizes import product
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Const, Var, wrap
from hidet.types import i32


@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 4), (3, 1, 2), (2, 2, 2, 2), (1, 1), ()])
def test_each_is_the_other_ones_inverse(shape):
    number = Var("number", i32)
    index = unravel(number, shape)
    places = list(itertools.product(*map(range, shape)))
    for n, place in enumerate(places):
        assert tuple(int(evaluate(e, {number: n})) for e in index) == place
        assert int(evaluate(ravel([wrap(p) for p in place], shape), {})) == n
    assert product(shape) == prod(shape)


def test_sizes_may_be_symbols():
    n, number = Var("n", i32), Var("number", i32)
    assert int(evaluate(wrap(product((2, n, 3))), {n: 5})) == 30
    row, column = unravel(number, (4, n))
    assert [int(evaluate(e, {n: 5, number: 13})) for e in (row, column)] == [2, 3]


def test_axes_of_one_element_are_at_zero():
    assert unravel(Var("number", i32), (1, 1)) == (Const(0, i32), Const(0, i32))
