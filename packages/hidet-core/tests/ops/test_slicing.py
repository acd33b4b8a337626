"""Slices by Python's rules, whatever the bounds and the step."""

from itertools import product

import numpy as np
import pytest

from hidet.ops.slicing import slice_range

BOUNDS = (None, -1, 0, 2, -2, 9, -9)


@pytest.mark.parametrize("size", [0, 1, 4, 7])
def test_slices_are_those_of_python(size):
    x = np.arange(size)
    for start, stop, step in product(BOUNDS, BOUNDS, (1, 2, -1, -2, -3)):
        first, count = slice_range(size, start, stop, step)
        found = [first + step * number for number in range(count)]
        assert found == list(x[start:stop:step]), (start, stop, step)
