"""Products of groups of rows on the CPU: odd sizes, empty groups, one group with all rows."""

import numpy as np
import pytest

from hidet.ir.expr import Var
from hidet.ops.products.grouped_matmul import GroupedMatmul
from hidet.schedules.base import candidates
from hidet.schedules.cpu.grouped_matmul import GroupedRegisters, grouped_panels
from hidet.target import Target
from hidet.types import bf16, f16, f32, f64, i32, i64

TARGET = Target.parse("cpu+avx512")
M = Var("m", i32)
OPS = [
    (GroupedMatmul(f32[70, 40], f32[5, 40, 24], i32[5]), GroupedRegisters(6, 2)),
    (GroupedMatmul(f32[129, 33], f32[5, 17, 33], i64[5], True), GroupedRegisters(14, 2)),
    (GroupedMatmul(f64[7, 300], f64[5, 300, 2], i32[5]), GroupedRegisters(2, 1)),
    (GroupedMatmul(f16[1, 9], f16[5, 9, 8], i32[5]), GroupedRegisters(8, 3)),
    (GroupedMatmul(bf16[37, 16], bf16[5, 3, 16], i32[5], True), GroupedRegisters(4, 2)),
    (GroupedMatmul(f32[M, 7], f32[5, 7, 9], i32[5]), GroupedRegisters(12, 1)),
]
ENDS = [[0, 0, 0.5, 0.5, 0.5], [0, 1, 1, 1, 1], [0.2, 0.3, 0.5, 0.5, 0.9], [0, 0, 0, 0, 0],
        [0.3, 0.1, 2, 0.5, 1]]  # fmt: skip
"""Parts of all rows; the last are none that there may be, which are taken for the nearest."""


@pytest.fixture(scope="module")
def library(compile_modules):
    return compile_modules([grouped_panels(op, TARGET, point).module for op, point in OPS])


@pytest.mark.parametrize("ends", ENDS, ids=str)
@pytest.mark.parametrize("number", range(len(OPS)))
def test_groups_of_any_length(library, number, ends, check):
    op = OPS[number][0].with_sizes(lambda size: 19)
    x, w, places = op.examples(seed=number)
    rows = op.x.shape[0]
    given = np.array([int(part * rows) for part in ends]).astype(places.dtype)
    found = np.full(op.results()[0].shape, 77, op.results()[0].dtype.numpy)
    library(number, x, w, given, found, m=19)
    near = np.maximum.accumulate(np.minimum(given, rows))
    check(op, [x, w, near], found)


def test_rows_of_a_tile_are_those_of_a_group():
    found = candidates(OPS[0][0], TARGET)
    assert found
    assert not any(each.point.flip for each in found)
