"""What tensor maps may say: the limits of the copy engine, each with its sentence."""

import pytest

from hidet.errors import BadTensorMap
from hidet.types import Im2col, TensorMapType, Tile, boolean, f8e4m3, f16, f32, i32
from hidet.types.tensor_map import check_tensor


def tile(*sizes, steps=None, dtype=f16, **form):
    return TensorMapType(dtype, Tile(sizes, steps or (1,) * len(sizes)), **form)


def images(pixels=8, channels=8, lower=(0, 0), upper=(0, 0), steps=(1, 1), **form):
    return TensorMapType(f16, Im2col(pixels, channels, lower, upper, steps), **form)


def test_a_box_says_how_large_it_is():
    of = tile(4, 64, swizzle="128B")
    assert (of.rank, of.shape, of.nbytes, of.swizzle_bytes) == (2, (4, 64), 512, 128)
    assert str(of) == "tensor map of f16, box (4, 64), swizzle 128B"
    of = images(129, 64, (-1, -1), (1, 1), (2, 2), promotion="256B", fill="nan")
    assert (of.rank, of.shape, of.nbytes) == (4, (129, 64), 129 * 128)
    assert str(of) == (
        "tensor map of f16, 129 pixels of 64 channels from (-1, -1) to (1, 1) step (2, 2), "
        "promotion 256B, filled with nan"
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tile(), "one to five axes, not 0"),
        (lambda: tile(1, 1, 1, 1, 1, 8), "one to five axes, not 6"),
        (lambda: tile(257, 8), "1 to 256 elements along an axis"),
        (lambda: tile(0, 8), "1 to 256 elements along an axis"),
        (lambda: tile(64, 8, steps=(8, 1)), "step .8, 1. does not"),
        (lambda: tile(2, 8, steps=(9, 1)), "steps from 1 to 8"),
        (lambda: tile(2, 8, steps=(1, 2)), "1 for the last"),
        (lambda: tile(2, 8, steps=(1,)), "a step for each axis"),
        (lambda: tile(64, 4), "multiple of 16 bytes, not 8"),
        (lambda: tile(64, 100), "multiple of 16 bytes, not 200"),
        (lambda: tile(64, 128, swizzle="128B"), "at most the 128 bytes of its swizzle, not 256"),
        (lambda: tile(64, 64, swizzle="64B"), "at most the 64 bytes"),
        (lambda: tile(64, 64, swizzle="256B"), "no swizzle '256B'"),
        (lambda: tile(64, 64, promotion="32B"), "no promotion '32B'"),
        (lambda: tile(64, 64, fill="ones"), "no fill 'ones'"),
        (lambda: tile(64, 64, dtype=i32, fill="nan"), "i32 cannot be filled with nan"),
        (lambda: tile(64, 64, dtype=f8e4m3, fill="nan"), "f8e4m3 cannot be filled"),
        (lambda: tile(64, 64, dtype=boolean), "no tensor maps of bool"),
        (lambda: images(lower=(0,)), "each with corners and a step"),
        (lambda: images(lower=(), upper=(), steps=()), "one to three spatial axes"),
        (lambda: images(lower=(-129, 0)), "from -128 to 127"),
        (lambda: images(upper=(0, 128)), "from -128 to 127"),
        (lambda: images(pixels=1025), "1 to 1024 pixels"),
        (lambda: images(channels=257), "1 to 256 channels"),
        (lambda: images(steps=(1, 9)), "steps from 1 to 8"),
        (lambda: images(channels=128, swizzle="128B"), "at most the 128 bytes"),
    ],
)
def test_what_the_copy_engine_does_not_have(make, message):
    with pytest.raises(BadTensorMap, match=message):
        make()


@pytest.mark.parametrize(
    ("of", "shape", "strides", "nbytes", "message"),
    [
        (tile(8, 8), (4,), (), None, "1 sizes and 0 strides"),
        (tile(8, 8), (0, 8), (16,), None, "sizes from 1 to"),
        (tile(8, 8), (4, 2**32 + 1), (16,), None, "sizes from 1 to"),
        (tile(8, 8), (4, 9), (18,), None, "multiples of 16 below"),
        (tile(8, 8), (4, 8), (-16,), None, "multiples of 16 below"),
        (tile(8, 8), (4, 8), (2**40,), None, "multiples of 16 below"),
        (tile(8, 8), (4, 8), (16,), 63, "takes 64 bytes; x has 63"),
        (images(upper=(0, -8)), (1, 8, 8, 8), (1024, 128, 16), None, "have no pixel"),
    ],
)
def test_what_does_not_fit_its_tensor(of, shape, strides, nbytes, message):
    with pytest.raises(BadTensorMap, match=message):
        check_tensor(of, "x", shape, strides, nbytes)


def test_what_fits_just_so():
    check_tensor(tile(8, 8), "x", (4, 8), (16,), 64)
    check_tensor(tile(8, dtype=f32), "x", (2**32,), ())
    check_tensor(images(upper=(0, -7)), "x", (1, 8, 8, 8), (1024, 128, 16), 1024)
