"""Where parts of a tensor lie."""

import numpy as np
import pytest

from hidet.ir.expr import Var
from hidet.mapping.slot import Slot
from hidet.types import i32


@pytest.mark.parametrize(
    ("whole", "starts", "shape"),
    [((7,), (0,), (7,)), ((5, 9), (2, 4), (3, 5)), ((2, 7, 3), (0, 6, 0), (2, 1, 3))],
)
def test_offsets_are_those_of_a_slice(whole, starts, shape):
    numbers = np.arange(np.prod(whole)).reshape(whole)
    box = tuple(slice(start, start + size) for start, size in zip(starts, shape, strict=True))
    slot = Slot(whole, starts)
    found = [slot(*index) for index in np.ndindex(*shape)]
    assert found == list(numbers[box].ravel())
    assert slot.cosize == numbers.size


def test_sizes_may_be_known_later():
    n, i = Var("n", i32), Var("i", i32)
    assert str(Slot((n, 8), (n - 1, 2))) == f"({n - 1}, 2) in (n, 8)"
    assert Slot((n, 8), (0, 2))(i, i) == i * 8 + (i + 2)
    assert Slot((n, 8), (0, 2)).cosize == n * 8
