import pytest

from hidet.mapping.digits import added, both, digits, scaled


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_digits_are_a_bijection(order):
    extents = (2, 1, 3)
    found = [digits(number, extents, order) for number in range(6)]
    assert len(set(found)) == 6
    assert all(0 <= d < n for digit in found for d, n in zip(digit, extents, strict=True))


def test_constants_that_change_nothing_are_not_written():
    leaf = object()
    assert scaled(leaf, 1) is added(leaf, 0) is added(0, leaf) is leaf
    assert scaled(leaf, 0) == scaled(0, leaf) == 0
    assert both(None, leaf) is both(leaf, None) is leaf
