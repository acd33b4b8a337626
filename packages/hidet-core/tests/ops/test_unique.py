"""Elements and slices once each, beside numpy's."""

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.options import options


def check(found, value, axis):
    wanted = np.unique(value, True, True, True, axis)
    for one, other in zip(found, wanted, strict=True):
        assert one.numpy().size == other.size
        np.testing.assert_array_equal(one.numpy(), other.reshape(one.numpy().shape))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
@pytest.mark.parametrize("n", [1, 2, 17])
def test_elements_and_slices(axis, dtype, n):
    value = np.random.default_rng(n).integers(0, 4, (n, 2, 3)).astype(dtype)
    check(ops.unique(hidet.asarray(value), axis), value, axis)


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("axis", [None, 0])
def test_in_graphs_of_any_size(axis, target):
    x = hidet.symbol(("n", 2), name="x")
    with options(target=target):
        compiled = hidet.trace_from(list(ops.unique(x, axis)), x).build()
        for n in (1, 2, 7, 129) if target == "cpu" else (3, 7):
            value = np.random.default_rng(n).integers(0, 3, (n, 2)).astype(np.float32)
            check(compiled(value), value, axis)


def test_of_nothing_there_is_nothing():
    for axis in (None, 0):
        check(ops.unique(hidet.zeros([0, 3]), axis), np.zeros((0, 3), np.float32), axis)


@pytest.mark.parametrize("axis", [None, 0])
def test_in_the_order_in_which_they_come(axis):
    value = np.asarray([[2, 2], [0, 5], [2, 2], [5, 0], [0, 5]], np.float32)
    found = ops.unique(hidet.asarray(value), axis, ordered=False)
    if axis is None:
        np.testing.assert_array_equal(found.values.numpy(), [2, 0, 5])
        np.testing.assert_array_equal(found.values.numpy()[found.inverse.numpy()], value.ravel())
        np.testing.assert_array_equal(found.counts.numpy(), [4, 3, 3])
        np.testing.assert_array_equal(found.first.numpy(), [0, 2, 3])
    else:
        np.testing.assert_array_equal(found.values.numpy(), [[2, 2], [0, 5], [5, 0]])
        np.testing.assert_array_equal(found.inverse.numpy(), [0, 1, 0, 2, 1])
        np.testing.assert_array_equal(found.counts.numpy(), [2, 2, 1])


def test_runs_of_equals():
    value = np.asarray([1, 1, 0, 0, 0, 1, 2], np.int64)
    found = ops.unique_consecutive(hidet.asarray(value))
    np.testing.assert_array_equal(found.values.numpy(), [1, 0, 1, 2])
    np.testing.assert_array_equal(found.inverse.numpy(), [0, 0, 1, 1, 1, 2, 3])
    np.testing.assert_array_equal(found.counts.numpy(), [2, 3, 1, 1])


def test_no_two_nan_are_equal():
    value = hidet.asarray(np.asarray([np.nan, 1, np.nan, -np.inf], np.float32))
    np.testing.assert_array_equal(ops.unique(value).values.numpy(), [-np.inf, 1, np.nan, np.nan])
