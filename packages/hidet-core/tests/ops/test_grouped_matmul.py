"""What grouped_matmul says of operands that do not fit, and rows of no group."""

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.errors import DtypeMismatch, ShapeMismatch


def test_rows_of_no_group_are_zero_and_ends_are_data():
    x, w = np.ones((5, 2), np.float32), np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    for ends, rows in (([1, 1, 3], [0, 2, 2]), ([0, 0, 0], []), ([5, 5, 5], [0] * 5)):
        given = hidet.asarray(np.array(ends, np.int64))
        found = ops.grouped_matmul(hidet.asarray(x), hidet.asarray(w), given).numpy()
        wanted = np.zeros((5, 2), np.float32)
        for row, group in enumerate(rows):
            wanted[row] = x[row] @ w[group]
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("x", "w", "ends", "error", "message"),
    [
        ((5, 2), (3, 4, 2), "int32", ShapeMismatch, "rows of 2 elements times matrices of 4 rows"),
        ((5, 4), (2, 4, 2), "int32", ShapeMismatch, "2 matrices for 3 groups"),
        ((5, 4, 1), (3, 4, 2), "int32", ShapeMismatch, "takes x[m, k], w[groups, k, n]"),
        ((5, 4), (3, 4, 2), "float32", DtypeMismatch, "ends are i32 or i64, not"),
    ],
)
def test_what_does_not_fit_is_said(x, w, ends, error, message):
    given = [hidet.zeros(list(x)), hidet.zeros(list(w)), hidet.zeros([3], dtype=ends)]
    with pytest.raises(error) as caught:
        ops.grouped_matmul(*given)
    assert message in caught.value.message
