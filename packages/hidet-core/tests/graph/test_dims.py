import pytest

from hidet import ops
from hidet.errors import ShapeMismatch
from hidet.graph import symbol
from hidet.graph.dims import axes_of, axis_of, reshaped, same, size_symbol

n = size_symbol("n")


def test_reshape_works_out_a_size():
    assert reshaped((2, 6), (3, -1)) == (3, 4)
    assert reshaped((0, 3), (-1, 3)) == (0, 3)
    assert reshaped((), (1, -1)) == (1, 1)
    shape = reshaped((n, 12, 64), (-1, 768))
    assert shape == (n, 768)
    assert same(reshaped((n, 4), (2, -1))[1], 2 * n)


def test_reshapes_that_do_not_fit():
    for shape, wanted in (((2, 3), (4, -1)), ((2, 3), (5,)), ((0,), (0, -1)), ((n,), (n, n))):
        with pytest.raises(ShapeMismatch, match="cannot reshape"):
            reshaped(shape, wanted)
    with pytest.raises(ShapeMismatch, match="more than one"):
        reshaped((4,), (-1, -1))


def test_axes():
    assert axis_of(-1, 3) == 2
    assert axis_of(-1, 0) == 0
    assert axes_of(None, 3) == (0, 1, 2)
    assert axes_of((-1, 0), 3) == (0, 2)
    assert axes_of(0, 0) == ()
    with pytest.raises(ShapeMismatch, match="outside"):
        axis_of(3, 3)
    with pytest.raises(ShapeMismatch, match="one axis twice"):
        axes_of((0, -3), 3)


def test_symbols_go_through_operators():
    x = symbol((n, 8))
    assert ops.linear(x, symbol((4, 8))).shape == (n, 4)
    joined = ops.concat([x, x], 0)
    assert same(joined.shape[0], 2 * n)
    assert ops.softmax(x).sum(1).shape == (n,)
    assert same(ops.conv1d(symbol((1, 2, n)), symbol((3, 2, 3)), padding=1).shape[2], n)
    assert same(x[1:].shape[0], n - 1) is None
    assert x[:, 2:5].shape == (n, 3)
    with pytest.raises(ShapeMismatch):
        ops.add(x, symbol((size_symbol("m"), 8)))
