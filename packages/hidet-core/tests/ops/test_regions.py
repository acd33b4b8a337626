"""Regions of images and convolutions with moved windows: where they meet simpler operators."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import NotYet, ShapeMismatch
from hidet.graph import symbol
from hidet.testing.defined import run


def image(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def test_a_region_in_bins_of_single_elements_is_that_part_of_the_image():
    x = image(2, 3, 6, 7)
    rois = np.float32([[1, 2, 5, 5], [0, 0, 4, 3]])
    found = run(lambda *o: ops.roi_align(*o, (3, 4)), x, rois, np.int64([1, 0]))
    np.testing.assert_allclose(found[0], x[1, :, 2:5, 1:5], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1], x[0, :, 0:3, 0:4], rtol=1e-5, atol=1e-6)


def test_a_region_much_larger_than_the_image():
    x = np.ones((1, 1, 3, 3), np.float32)
    rois = np.float32([[-50, -50, 150, 250]])
    found = run(lambda *o: ops.roi_align(*o, (1, 1)), x, rois, np.int64([0]))
    inside = [sum(-1 <= -50.5 + (i + 0.5) <= 3 for i in range(count)) for count in (300, 200)]
    np.testing.assert_allclose(found.item(), inside[0] * inside[1] / (300 * 200), rtol=1e-5)


def test_what_is_no_region():
    x, batch = symbol([1, 1, 3, 3]), symbol([2], "int64")
    with pytest.raises(ShapeMismatch, match="regions"):
        ops.roi_align(x, symbol([2, 5]), batch, (2, 2))
    with pytest.raises(NotYet, match="maximum"):
        ops.roi_align(x, symbol([2, 4]), batch, (2, 2), mode="max")


@pytest.mark.parametrize("groups", [1, 2])
def test_windows_that_do_not_move_are_those_of_a_convolution(groups):
    x, weight, bias = image(2, 4, 7, 6), image(6, 4 // groups, 3, 2), image(6)
    how = {"stride": (2, 1), "padding": ((1, 0), (0, 1)), "dilation": (1, 2), "groups": groups}
    wanted = run(lambda *o: ops.conv(*o, **how), x, weight, bias)
    still = np.zeros((2, 2 * 6 * 2, *wanted.shape[2:]), np.float32)
    half = np.full((2, 2 * 6, *wanted.shape[2:]), 0.5, np.float32)
    found = run(
        lambda a, w, o, b, m: ops.deform_conv(a, w, o, b, m, **how), x, weight, still, bias, half
    )
    scaled = (wanted - bias.reshape(1, -1, 1, 1)) / 2 + bias.reshape(1, -1, 1, 1)
    np.testing.assert_allclose(found, scaled, rtol=1e-4, atol=1e-5)


def test_a_window_that_moves_by_one():
    x, weight = image(1, 1, 5, 5), image(1, 1, 1, 1)
    move = np.zeros((1, 2, 5, 5), np.float32)
    move[:, 1] = 1
    found = run(ops.deform_conv, x, weight, move)
    wanted = np.zeros_like(x)
    wanted[..., :4] = x[..., 1:] * weight.item()
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    with pytest.raises(ShapeMismatch, match="offsets"):
        ops.deform_conv(symbol([1, 1, 5, 5]), symbol([1, 1, 1, 1]), symbol([1, 3, 5, 5]))
