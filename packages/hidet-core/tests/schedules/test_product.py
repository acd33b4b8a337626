"""Products and convolutions as one form: its index functions against numpy."""

import numpy as np
import pytest

from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Var, wrap
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.schedules.contraction import digits, names_of
from hidet.schedules.convolution import convolution_of
from hidet.schedules.product import product_of
from hidet.types import f16, f32, i32

OPS = [op for kind in (Matmul, Linear, Conv) for op in kind.samples() if 0 not in op.infer().shape]


@pytest.mark.parametrize("op", OPS, ids=str)
def test_the_form_is_the_operator(op):
    p = convolution_of(op) if isinstance(op, Conv) else product_of(op)
    arrays = [each.astype(np.float64) for each in op.examples(seed=1)]
    named = dict(zip(names_of(p), arrays, strict=True))
    expected = op.reference(*op.arrange(arrays))
    random = np.random.default_rng(0)
    for z, i, j in zip(*(random.integers(0, size, 8) for size in (p.batch, p.m, p.n)), strict=True):
        z, i, j = int(z), int(i), int(j)
        total = 0.0 if p.bias is None else named["bias"][numbers(p.bias_at(z, i, j))]
        for r in range(p.k):
            total += read(named["a"], p.a_at(z, i, r)) * read(named["b"], p.b_at(z, r, j))
        assert np.isclose(total, expected[numbers(p.c_at(z, i, j))])


def read(array, index):
    """An element; zero outside, as hooks read."""
    index = numbers(index)
    inside = all(0 <= at < size for at, size in zip(index, array.shape, strict=True))
    return array[index] if inside else 0.0


def numbers(index):
    """A constant index as numbers."""
    return tuple(int(evaluate(wrap(at), {})) for at in index)


def test_what_has_one_right_side_is_one_product():
    p = product_of(Matmul(f32[8, 128, 64], f32[64, 32]))
    assert (p.batch, p.m, p.n, p.k) == (1, 1024, 32, 64)
    p = product_of(Matmul(f32[8, 128, 64], f32[8, 64, 32]))
    assert (p.batch, p.m) == (8, 128)


def test_numbers_that_are_too_large_are_outside():
    assert numbers(digits(7, (2, 3))) == (2, 1)
    assert numbers(digits(5, (1, 1))) == (0, 5)
    m = Var("m", i32)
    assert str(digits(m, (4, 1, 5))) == str((m // 5, 0, m % 5))


def test_channels_last_is_the_same_product_of_other_places():
    rest = (None, (1, 1), ((0, 0), (0, 0)), (1, 1), 1)
    last = convolution_of(Conv(f32[1, 6, 6, 4], f32[8, 3, 3, 4], *rest, channels_last=True))
    second = convolution_of(Conv(f32[1, 4, 6, 6], f32[8, 4, 3, 3], *rest))
    assert (last.m, last.n, last.k) == (second.n, second.m, second.k) == (16, 8, 36)
    assert numbers(last.a_at(0, 5, 4 * 4 + 3))[1:] == (1 + 1, 1 + 1, 3)
    assert numbers(second.b_at(0, 3 * 9 + 4, 5)) == (0, 3, 1 + 1, 1 + 1)


def test_how_many_neighbours_are_there_together():
    rest = ((1, 1), ((1, 1), (1, 1)), (1, 1))
    deep = convolution_of(Conv(f16[1, 6, 6, 24], f16[8, 3, 3, 24], None, *rest, 1, True))
    split = convolution_of(Conv(f16[1, 6, 6, 24], f16[8, 3, 3, 4], None, *rest, 6, True))
    first = convolution_of(Conv(f16[1, 6, 6, 3], f16[8, 3, 3, 3], None, *rest, 1, True))
    assert [p.a_contiguity for p in (deep, split, first)] == [8, 4, 1]
    assert [p.scattered > 0 for p in (deep, split, first)] == [False, False, True]
    product = product_of(Matmul(f16[9, 40], f16[40, 6]))
    assert (product.a_contiguity, product.b_contiguity) == (8, 2)
    across = product_of(Matmul(f16[2, 40, 12], f16[2, 40, 7], transpose_a=True))
    assert (across.a_contiguity, across.b_contiguity) == (4, 1)
