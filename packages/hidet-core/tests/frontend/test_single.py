"""Constants that are one number."""

import numpy as np
import pytest

from hidet.frontend.importing.single import one_number


@pytest.mark.parametrize(
    ("array", "number"),
    [
        (np.float32(0.5), 0.5),
        (np.array([-7]), -7),
        (np.array([[True]]), True),
        (np.full((2, 3), 1.5, np.float16), 1.5),
        (np.full((2, 3), -np.inf), -np.inf),
        (np.full((2, 3), -0.0), -0.0),
        (np.full(3, 0.5), None),  # a weight, like any other vector
        (np.array([[0.0, -0.0], [0.0, 0.0]]), None),
        (np.array([[1, 2], [2, 1]]), None),
        (np.float32(np.nan), None),
        (np.zeros((0, 2)), None),
    ],
)
def test_arrays_that_are_one_number(array: np.ndarray, number: object) -> None:
    found = one_number(np.asarray(array))
    assert found == number
    assert found is None or np.signbit(found) == np.signbit(np.asarray(array).flat[0])
