"""Images read at places: the identity, edges, far places, and the maps that make places."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import BadArgument, DtypeMismatch, ShapeMismatch
from hidet.graph import from_numpy, symbol, trace_from
from hidet.testing.defined import run


def image(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (1, 2, 3, 4, 2)])
def test_the_identity(shape, mode, align):
    x = image(*shape)
    rank = len(shape) - 2
    theta = np.tile(np.eye(rank, rank + 1, dtype=np.float32), (shape[0], 1, 1))

    def there(v, t):
        places = ops.affine_grid(t, shape[2:], align_corners=align)
        return ops.grid_sample(v, places, mode=mode, padding="border", align_corners=align)

    np.testing.assert_allclose(run(there, x, theta), x, rtol=1e-5, atol=1e-5)


def test_the_first_axis_of_places_is_the_last_one_of_the_image():
    x = image(1, 1, 2, 3)
    places = np.float32([[[[-1, -1], [1, -1], [-1, 1], [1, 1]]]])
    corners = run(lambda v, p: ops.grid_sample(v, p, align_corners=True), x, places)
    np.testing.assert_allclose(corners.ravel(), x[0, 0][[0, 0, 1, 1], [0, 2, 0, 2]], rtol=1e-6)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_places_that_are_no_places_read_nothing_outside(mode, padding):
    x = image(1, 1, 3, 3)
    places = np.float32([np.nan, np.inf, -np.inf, 1e30, -1e9, 7, 0, -3]).reshape(1, 2, 2, 2)
    found = run(lambda v, p: ops.grid_sample(v, p, mode=mode, padding=padding), x, places)
    assert found.shape == (1, 1, 2, 2)
    far = np.full((1, 1, 1, 2), 1e30, np.float32)
    corner = run(lambda v, p: ops.grid_sample(v, p, mode=mode, padding=padding), x, far)
    if padding != "reflection":
        np.testing.assert_allclose(corner.item(), 0 if padding == "zeros" else x[0, 0, 2, 2])


def test_sizes_that_only_a_call_tells():
    x, places = symbol(["n", 2, "h", 5]), symbol(["n", "m", 3, 2])
    graph = trace_from(ops.grid_sample(x, places, padding="reflection"), [x, places])
    random = np.random.default_rng(1)
    for size in (1, 7):
        a = image(2, 2, size, 5)
        b = random.uniform(-1.5, 1.5, (2, size, 3, 2)).astype(np.float32)
        found = graph(from_numpy(a), from_numpy(b)).numpy()
        wanted = run(lambda v, p: ops.grid_sample(v, p, padding="reflection"), a, b)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_one_element_is_in_the_middle():
    theta = np.float32([[[1, 0, 0], [0, 1, 0]]])
    found = run(lambda t: ops.affine_grid(t, (1, 2), align_corners=True), theta)
    np.testing.assert_array_equal(found, [[[[-1, 0], [1, 0]]]])


def test_what_it_does_not_take():
    x = symbol([1, 1, 3, 3])
    with pytest.raises(ShapeMismatch, match="grid_sample of"):
        ops.grid_sample(x, symbol([1, 2, 2, 3]))
    with pytest.raises(ShapeMismatch, match="places for 2"):
        ops.grid_sample(x, symbol([2, 2, 2, 2]))
    with pytest.raises(DtypeMismatch, match="floating-point"):
        ops.grid_sample(ops.cast(x, "int32"), symbol([1, 2, 2, 2]))
    with pytest.raises(BadArgument, match="padding 'mirror'"):
        ops.grid_sample(x, symbol([1, 2, 2, 2]), padding="mirror")
    with pytest.raises(ShapeMismatch, match=r"affine map of 2 axes is \[n, 2, 3\]"):
        ops.affine_grid(symbol([1, 3, 4]), (3, 3))
