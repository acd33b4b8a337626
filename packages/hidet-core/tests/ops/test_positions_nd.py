"""Positions of several axes at once: reading, writing, one-hot vectors, caches."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import symbol
from hidet.testing.defined import run


def test_reading():
    x = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    at = np.int64([[[0, 1], [2, -1]], [[-3, 3], [1, 0]]])
    whole = run(ops.gather_nd, x, np.int64([[1, 2, 3], [0, -1, 0]]))
    np.testing.assert_array_equal(whole, np.stack([x[1, 2, 3], x[0, -1, 0]]))
    found = run(lambda v, i: ops.gather_nd(v, i, batch_axes=1), x, at)
    wanted = np.stack([np.stack([x[b][tuple(i)] for i in at[b]]) for b in range(2)])
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ShapeMismatch, match="2 positions"):
        ops.gather_nd(symbol([3]), symbol([4, 2], "int64"))


@pytest.mark.parametrize("how", ["set", "add", "mul", "min", "max"])
def test_writing(how):
    random = np.random.default_rng(0)
    x = random.normal(size=(3, 4, 2)).astype(np.float32)
    at = np.int64([[0, 1], [2, -1], [0, 1], [1, 0], [0, 1]])
    updates = random.normal(size=(5, 2)).astype(np.float32)
    combine = {
        "set": lambda a, b: b, "add": np.add, "mul": np.multiply, "min": np.minimum,
        "max": np.maximum,
    }[how]  # fmt: skip
    wanted = x.copy()
    for place, update in zip(at, updates, strict=True):
        wanted[tuple(place)] = combine(wanted[tuple(place)], update)
    found = run(lambda v, i, u: ops.scatter_nd(v, i, u, how), x, at, updates)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_way_that_there_is_not():
    x, at, updates = symbol([3]), symbol([2, 1], "int64"), symbol([2])
    with pytest.raises(BadArgument, match="no way 'mean'"):
        ops.scatter_nd(x, at, updates, "mean")


def test_one_hot_values_at_any_axis():
    index = np.int64([[1, -1], [7, 0]])
    values = np.float32([-1, 3])
    found = run(lambda i, v: ops.one_hot_values(i, 3, v, axis=1), index, values)
    wanted = np.full((2, 3, 2), -1, np.float32)
    wanted[0, 1, 0] = wanted[0, 2, 1] = wanted[1, 0, 1] = 3
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("axis", [1, -2])
def test_a_cache_is_written_from_a_place_on(axis):
    cache = np.zeros((2, 5, 5, 3), np.float32)
    update = np.random.default_rng(0).normal(size=(2, 2, 2, 3)).astype(np.float32)
    shape = [2, 5, 5, 3]
    shape[axis] = 2
    update = np.resize(update, shape)
    start = np.int64([1, 4])
    write = lambda c, u, s: ops.tensor_scatter(c, u, s, axis=axis, circular=True)
    wanted = np.moveaxis(cache, axis, 1).copy()
    for b, step in np.ndindex(2, 2):
        wanted[b, (start[b] + step) % 5] = np.moveaxis(update, axis, 1)[b, step]
    np.testing.assert_array_equal(run(write, cache, update, start), np.moveaxis(wanted, 1, axis))
    with pytest.raises(ShapeMismatch, match="does not fit"):
        ops.tensor_scatter(symbol([2, 5, 3]), symbol([2, 2, 4]))
