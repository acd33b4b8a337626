from itertools import product as product_of

import pytest

from hidet.compute.guards import assuming
from hidet.compute.sizes import (
    broadcast,
    numbers,
    product,
    quotient,
    same,
    same_shape,
    spelled,
    tidy,
)
from hidet.errors import ShapeMismatch
from hidet.graph.evaluate import resolved
from hidet.ir.expr import Maximum, Minimum, Var, constant, wrap
from hidet.types import Size, i32

m, n = Var("m", i32), Var("n", i32)


def test_equal_sums_are_the_same_size():
    assert same((m + 1) * (n + 2), m * n + 2 * m + n + 2) is True
    assert tidy(m + n - m) is n
    assert tidy((m + 3) - m) == 3


def test_sizes_that_differ_always_or_perhaps():
    assert same(m + 1, m) is False
    assert same(m, n) is None
    assert same(m, 1) is None
    assert same(3, 4) is False


def test_sums_divide_sums():
    assert quotient(4 * m * n + 4 * m * m, m + n) is not None
    assert same(quotient(4 * m * n + 4 * m * m, 2 * m + 2 * n), 2 * m) is True
    assert same(quotient(m * m - 1, m + 1), m - 1) is True
    assert quotient(m * m + 1, m + 1) is None
    assert quotient(3 * m + n, m + n) is None


def test_the_lesser_of_two_sizes_is_simple_where_it_is_known():
    assert same(Maximum(Minimum(m, wrap(512)), wrap(0)), Minimum(m, wrap(512))) is True
    assert same(Minimum(m, m + n), m) is True
    assert same(Maximum(m, m + n), m + n) is True
    assert same(Minimum(m, wrap(512)), m) is None
    assert same(Minimum(m, wrap(512)), Minimum(wrap(512), m)) is True


def test_what_stands_before_its_own_first_elements_and_is_cut_is_as_long_as_before():
    first = Minimum(wrap(1), m)
    whole = first + m
    assert same(Maximum(whole - Minimum(whole, wrap(1)), wrap(0)), m) is True
    assert same(Minimum(wrap(1), 2 * n * first + n * m), Minimum(n * m, wrap(1))) is True


@pytest.mark.parametrize(
    "size",
    [Minimum(m, wrap(2)) + m, Minimum(m - 1, wrap(1)) + m, Minimum(m, wrap(1)) - n, n - m, m + n],
)
def test_the_lesser_of_one_and_a_sum_keeps_its_value(size):
    lesser = Minimum(size, wrap(1))
    for here, there in product_of(range(4), range(4)):
        values = {m: constant(here, i32), n: constant(there, i32)}
        assert resolved(tidy(lesser), values) == resolved(lesser, values)


def test_quotients_take_out_what_divides():
    assert same((6 * m + 4) // 2, 3 * m + 2) is True
    assert same((4 * m + 7) // 4, m + 1) is True
    assert same((4 * m + 6) % 4, 2) is True
    assert same((2 * m + 1) // 4, m) is None


def test_what_is_padded_to_a_multiple_is_one():
    for step in (2, 3, 8):
        whole = m + (step - m % step) % step
        assert same(whole % step, 0) is True
        assert same(n * (whole // step) * step, n * whole) is True
        assert same((whole + 2 * step) // step * step, whole + 2 * step) is True
    assert same(m // 2 * 2, m) is None
    assert same((m % 4) % 2, m % 2) is True
    assert same((m % 2) % 4, m % 4) is None


def test_a_negative_term_divides_as_python_does():
    size = tidy((m - 3) // 2)
    for value in range(8):
        assert evaluated(size, value) == (value - 3) // 2


@pytest.mark.parametrize("by", [1, 2, 3, 5])
def test_division_keeps_its_value(by):
    for built, plain in (
        ((6 * m - 7) // by, lambda v: (6 * v - 7) // by),
        ((5 * m + 4) % by, lambda v: (5 * v + 4) % by),
        ((9 - 4 * m) // by, lambda v: (9 - 4 * v) // by),
    ):
        size = tidy(built)
        assert [evaluated(size, v) for v in range(7)] == [plain(v) for v in range(7)]


def evaluated(size, value):
    return resolved(size, {m: constant(value, i32)})


def test_products_and_exact_quotients():
    assert same(product((m, 2, n)), 2 * m * n) is True
    assert product(()) == 1
    assert same(quotient(6 * m * n, 2 * m), 3 * n) is True
    assert quotient(m * n + 1, m) is None
    assert quotient(3 * m, 2) is None


def test_broadcasting():
    assert broadcast((3, 1), (4,)) == (3, 4)
    assert broadcast((m, 1), (1, n)) == (m, n)
    assert broadcast((0, 3), (1, 3)) == (0, 3)
    assert broadcast() == ()
    with pytest.raises(ShapeMismatch, match="do not broadcast"):
        broadcast((3,), (4,))
    with pytest.raises(ShapeMismatch, match="must be equal"):
        broadcast((m,), (n,))
    with pytest.raises(ShapeMismatch) as caught:
        broadcast((n, 3), (Var("n", i32), 3))
    assert 'size = hidet.symbol_var("n")' in caught.value.help


def test_shapes():
    assert same_shape((m, 2 * n), (m, n + n))
    assert not same_shape((m,), (m, 1))
    assert spelled((3,)) == "(3,)"
    assert numbers((2, 3)) == (2, 3)
    with pytest.raises(ShapeMismatch, match="not known yet"):
        numbers((2, m))


@pytest.mark.parametrize("is_assumed", [False, True])
def test_sizes_of_forty_layers_are_told_in_no_time(is_assumed: bool) -> None:
    """Each is the larger of two, one of them made of the size before: it is told once."""
    size: Size = Var("n", i32)
    with assuming() as guards:
        if is_assumed:
            guards.limit(Var("most", i32), 7)
        for _ in range(40):
            size = tidy(Maximum(wrap(size) // 2 - 1, wrap(3)))
        assert same(size, size) is True
