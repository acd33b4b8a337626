"""Convolutions of 8-bit integers on the CPU are exact, in either layout."""

from itertools import product

import numpy as np
import pytest

from hidet.ops.windows.conv import Conv
from hidet.schedules.base import SCHEDULES, candidates
from hidet.schedules.convolution import convolution_of
from hidet.schedules.cpu.conv import ConvRegisters, conv_panels
from hidet.target import Target
from hidet.types import f32, i8, i32, u8

VNNI, HALF = Target.parse("cpu+avx512+vnni"), Target.parse("cpu+avx2")
POINT = ConvRegisters(6, 2, False)


def last(x, weight, stride=1, around=0, apart=1, groups=1):
    """With channels last, in two dimensions."""
    pairs = ((around, around),) * 2
    return Conv(x, weight, None, (stride,) * 2, pairs, (apart,) * 2, groups, True, i32)


def second(x, weight, around=0, groups=1):
    """With channels second, in two dimensions."""
    return Conv(x, weight, None, (1, 1), ((around, around),) * 2, (1, 1), groups, False, i32)


LAYOUTS = [
    last(u8[2, 7, 5, 16], i8[13, 3, 3, 16], around=1),
    last(i8[1, 9, 11, 3], i8[7, 7, 5, 3], stride=2),  # rows of a window lie side by side
    last(u8[1, 9, 11, 3], i8[7, 3, 3, 3], around=2, apart=2),
    last(i8[2, 5, 5, 10], u8[6, 2, 3, 5], groups=2),
    last(u8[1, 5, 6, 17], i8[33, 1, 1, 17], stride=2),
    last(i8[1, 9, 11, 3], i8[7, 3, 3, 3], around=1),  # but for those at the border
    last(u8[2, 9, 11, 4], i8[7, 3, 5, 4], stride=2, around=2),
    last(u8[1, 6, 6, 16], i8[13, 3, 3, 16]),
    second(u8[2, 5, 7, 6], i8[13, 5, 3, 2], around=1),
    second(i8[1, 6, 5, 5], i8[4, 3, 3, 3], groups=2),
]
CASES = list(product(LAYOUTS, (VNNI, HALF)))


@pytest.fixture(scope="module")
def library(compile_modules):
    return compile_modules([conv_panels(op, target, POINT).module for op, target in CASES])


@pytest.mark.parametrize("number", range(len(CASES)))
def test_convolutions_are_exact(library, number):
    op, _ = CASES[number]
    rng = np.random.default_rng(number)
    arrays = []
    for of in (op.x, op.weight):
        low, high = of.dtype.limits
        arrays.append(rng.integers(low, high, of.shape, endpoint=True).astype(of.dtype.numpy))
    found = np.full(op.infer().shape, 77, np.int32)
    library(number, *arrays, found)
    np.testing.assert_array_equal(found, op.reference(*arrays, None))


@pytest.mark.parametrize(
    ("op", "run", "reach"),
    [
        (LAYOUTS[0], 16, 48),
        (LAYOUTS[1], 15, 15),
        (LAYOUTS[2], 3, 3),
        (LAYOUTS[3], 5, 5),
        (LAYOUTS[5], 3, 9),
        (LAYOUTS[7], 16, 16),  # padding that is computed may come before it
    ],
)
def test_what_lies_side_by_side_is_copied_at_once(op, run, reach):
    p = convolution_of(op)
    assert (p.run, p.reach) == (run, reach)


def test_channels_had_better_be_last():
    gains = [each for each in SCHEDULES if each.name == "conv_panels" and each.target == "cpu"]
    for op, expected in ((second(u8[1, 8, 5, 5], i8[8, 8, 3, 3]), True),
                         (Conv(f32[1, 8, 5, 5], f32[8, 8, 3, 3], None, (1, 1), ((0, 0),) * 2,
                               (1, 1), 1), False)):  # fmt: skip
        assert [each.gains_by_channels_last(op, VNNI) for each in gains] == [expected]
    floats = Conv(
        f32[1, 28, 28, 64], f32[64, 3, 3, 64], None, (1, 1), ((1, 1),) * 2, (1, 1), 1, True
    )
    bytes_ = last(u8[1, 28, 28, 64], i8[64, 3, 3, 64], around=1)
    seconds = [candidates(op, VNNI)[0].seconds for op in (bytes_, floats)]
    assert 3 * seconds[0] < seconds[1]
