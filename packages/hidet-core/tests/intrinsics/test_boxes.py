"""The bytes of boxes against a model that goes element by element."""

import numpy as np
import pytest

from hidet.intrinsics.boxes import Boxes, filled, scattered, units
from hidet.types import Im2col, TensorMapType, Tile, f16, f32, u8

from .box_model import OUTSIDE, box_of, indices, swizzled


def strides_of(tensor):
    return tensor.strides[:-1]


def numbers(shape, dtype=np.float16):
    return np.arange(1, np.prod(shape) + 1).reshape(shape).astype(dtype)


def gathered(of, tensor, position, offsets=()):
    """The box as `boxes.py` says it is read."""
    span = Boxes(of, None, tensor.shape, strides_of(tensor)).span(position, offsets)
    out, memory = filled(of), tensor.reshape(-1).view(np.uint8)
    width = span.columns * of.dtype.nbytes
    for row, start in zip(span.rows, span.starts, strict=True):
        first = span.first * of.dtype.nbytes
        out[row, first : first + width] = memory[start : start + width]
    return out.reshape(-1).view(of.dtype.numpy).reshape(of.shape)


TILES = [
    ((8,), (129,), (1,), [(0,), (121,), (122,), (128,), (129,), (-3,), (-8,), (500,)]),
    ((64, 64), (129, 72), (1, 1), [(0, 0), (64, 64), (128, 8), (-1, -1), (128, 71), (1, 3)]),
    ((2, 3, 8), (7, 2, 8), (1, 1, 1), [(0, 0, 0), (6, 1, 0), (5, -2, 4), (7, 0, 0)]),
    ((2, 4, 8), (5, 31, 16), (2, 3, 1), [(0, 0, 0), (3, 25, 8), (-1, -2, -4)]),
    ((1, 2, 1, 8), (2, 3, 5, 8), (1, 1, 1, 1), [(1, 2, 4, 1), (0, 0, 0, 0)]),
    ((1, 2, 2, 2, 8), (2, 3, 1, 5, 8), (1, 1, 1, 2, 1), [(1, 1, 0, 3, 0), (0, -1, -1, -1, -1)]),
]


@pytest.mark.parametrize(("sizes", "shape", "steps", "positions"), TILES)
@pytest.mark.parametrize("fill", ["zeros", "nan"])
def test_a_tile(sizes, shape, steps, positions, fill):
    of = TensorMapType(f16, Tile(sizes, steps), fill=fill)
    tensor = numbers(shape)
    for position in positions:
        expected = box_of(of, tensor, position)
        np.testing.assert_array_equal(gathered(of, tensor, position), expected, str(position))


IMAGES = [
    # pixels, channels, lower, upper, steps, shape, positions, offsets
    (7, 8, (-1,), (-1,), (1,), (3, 7, 8), [(0, -1, 0), (2, 5, 0), (2, 0, 4)], [(0,), (2,)]),
    (64, 8, (-1, -1), (-1, -1), (1, 1), (4, 14, 9, 64), [(0, 4, 7, 7), (3, 12, 7, 60)], [(0, 0)]),
    (64, 8, (0, 0), (-2, -2), (1, 1), (4, 14, 9, 64), [(0, 4, 6, 7)], [(2, 2), (1, 0)]),
    (32, 16, (-1, -1), (-1, -1), (2, 2), (4, 14, 8, 64), [(0, 5, 5, 7), (3, 11, 5, 0)], [(1, 1)]),
    (129, 8, (-2, -3), (2, 1), (1, 3), (2, 5, 7, 8), [(0, -2, -3, 0), (1, 6, 6, 0)], [(0, 3)]),
    (11, 8, (0, -1, -1), (0, 0, 0), (1, 1, 2), (2, 2, 3, 3, 8), [(1, 1, 2, 1, 0)], [(0, 1, 1)]),
]


@pytest.mark.parametrize(
    ("pixels", "channels", "lower", "upper", "steps", "shape", "positions", "offsets"), IMAGES
)
def test_rows_of_pixels(pixels, channels, lower, upper, steps, shape, positions, offsets):
    of = TensorMapType(f16, Im2col(pixels, channels, lower, upper, steps))
    tensor = numbers(shape)
    for position in positions:
        for offset in offsets:
            expected = box_of(of, tensor, position, offset)
            np.testing.assert_array_equal(gathered(of, tensor, position, offset), expected)


def test_a_filter_stays_within_its_corners():
    of = TensorMapType(f16, Im2col(8, 8, (-1, 0), (-1, 0), (1, 1)))
    boxes = Boxes(of, None, (1, 4, 4, 8), (256, 64, 16))
    for position in ((0, -2, 0, 0), (0, 3, 0, 0), (0, 0, -1, 0), (0, 0, 4, 0)):
        with pytest.raises(ValueError, match="outside of the corners"):
            boxes.span(position)
    assert boxes.span((5, 0, 0, 0)).rows.size == 0


@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("base", [0, 128, 384, 1024])
def test_a_swizzle_moves_pieces_by_their_address(swizzle, base):
    of = TensorMapType(u8, Tile((19, 32), (1, 1)), swizzle=swizzle)
    box = np.random.default_rng(0).integers(0, 256, (19, 32)).astype(np.uint8)
    expected = swizzled(of, np.pad(box, ((0, 45), (0, 0))), base)
    there = np.zeros_like(expected)
    there[scattered(of, base, np.arange(box.size))] = box.reshape(-1)
    reached = scattered(of, base, np.arange(box.size))
    np.testing.assert_array_equal(there[reached], expected[reached])


@pytest.mark.parametrize("position", [(0, 0), (-3, 8), (6, -8), (6, 3), (-3, -5), (9, 0)])
def test_what_is_inside_is_moved_in_pieces_or_by_element(position):
    of = TensorMapType(f32, Tile((8, 16), (1, 1)))
    boxes = Boxes(of, None, (7, 20), (80,))
    offsets, width = units(of, boxes.span(position))
    touched = (offsets[:, None] + np.arange(0, width, 4)).reshape(-1) // 4
    inside = [i for i, at in enumerate(indices(of, (7, 20), position)) if at is not OUTSIDE]
    assert touched.tolist() == inside
