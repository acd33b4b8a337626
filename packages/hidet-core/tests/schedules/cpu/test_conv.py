"""Convolutions on the CPU against numpy, for every vector width and odd sizes."""

import numpy as np
import pytest

from hidet.ops.conv import Conv
from hidet.schedules.base import candidates
from hidet.schedules.cpu.conv import ConvRegisters, conv_panels
from hidet.target import Target
from hidet.types import f16, f32, f64

ONE, SAME = (1, 1), ((1, 1), (1, 1))
WIDE, HALF, PLAIN = (Target.parse(text) for text in ("cpu+avx512", "cpu+avx2", "cpu"))
CONVS = [
    *(op for op in Conv.samples() if candidates(op, WIDE)),
    Conv(f32[2, 7, 13, 11], f32[33, 7, 3, 3], f32[33], (2, 1), SAME, ONE, 1),
    Conv(f32[1, 6, 9, 9], f32[10, 3, 3, 3], f32[10], ONE, SAME, (2, 1), 2),
    Conv(f32[1, 40, 7, 7], f32[129, 40, 1, 1], None, ONE, ((0, 0), (0, 0)), ONE, 1),
    Conv(f64[1, 3, 9, 9], f64[8, 3, 5, 5], f64[8], (3, 3), ((2, 1), (0, 2)), ONE, 1),
    Conv(f16[3, 5, 1, 1], f16[7, 5, 1, 1], f16[7], ONE, ((0, 0), (0, 0)), ONE, 1),
]
CASES = [
    *((op, WIDE, ConvRegisters(8, 2)) for op in CONVS),
    *((op, WIDE, ConvRegisters(14, 1)) for op in CONVS[-5:]),
    *((op, HALF, ConvRegisters(6, 2)) for op in CONVS[-5:]),
    *((op, PLAIN, ConvRegisters(4, 2)) for op in CONVS[-5:-3]),
]


@pytest.fixture(scope="module")
def library(compile_modules):
    return compile_modules([conv_panels(op, *rest).module for op, *rest in CASES])


@pytest.mark.parametrize("number", range(len(CASES)))
def test_convolutions(library, number, check):
    op = CASES[number][0]
    arrays, result = op.examples(seed=number), op.results()[0]
    found = np.full(result.shape, 77, result.dtype.numpy)
    library(number, *arrays, found)
    check(op, arrays, found)
