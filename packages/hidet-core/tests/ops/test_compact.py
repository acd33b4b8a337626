"""Where tensors are not zero, of each type and rank."""

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.errors import DtypeMismatch, ShapeMismatch
from hidet.options import options


@pytest.mark.parametrize("shape", [(), (1,), (7,), (129,), (3, 5), (2, 3, 7), (0, 3), (3, 0)])
@pytest.mark.parametrize("dtype", ["float32", "bool", "int8"])
def test_places_come_in_row_major_order(shape, dtype):
    value = np.random.default_rng(len(shape)).integers(0, 2, shape).astype(dtype)
    found = ops.nonzero(hidet.asarray(value)).numpy()
    np.testing.assert_array_equal(found, np.argwhere(value))


def test_infinities_and_nan_are_not_zero():
    value = np.asarray([np.nan, 0, np.inf, -0.0, 1e-40], np.float32)
    found = ops.nonzero(hidet.asarray(value)).numpy()
    np.testing.assert_array_equal(found, np.argwhere(value))


def test_in_the_simulator_too():
    x = hidet.symbol(("n", 3), name="x")
    with options(target="sim"):
        compiled = hidet.trace_from(ops.nonzero(x), x).build()
        for n in (1, 2, 43):
            value = np.random.default_rng(n).integers(0, 2, (n, 3)).astype(np.float32)
            np.testing.assert_array_equal(compiled(value).numpy(), np.argwhere(value))


def test_only_integers_of_one_element_are_sizes():
    with pytest.raises(DtypeMismatch, match="a size is an integer, not float32"):
        ops.size_from(hidet.symbol(()))
    with pytest.raises(ShapeMismatch, match="a size is one element"):
        ops.size_from(hidet.symbol((2,), "int64"))
    with pytest.raises(ShapeMismatch, match="rows is 3, which has to be at least 4 and at most 5"):
        ops.size_from(hidet.asarray(np.asarray(3)), "rows", 4, 5)
