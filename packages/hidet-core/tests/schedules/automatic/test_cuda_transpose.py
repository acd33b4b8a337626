"""Elements that change places on their way from operands to result."""

import numpy as np
import pytest

from hidet import ops, sim
from hidet.passes.pipeline import lower
from hidet.types import boolean, f16, f32, f64, i8

SHAPES = [(16, 16), (64, 64), (33, 129), (40, 72), (136, 67), (67, 136), (17, 31), (2, 129), (7, 7)]


def turned(x):
    return ops.transpose(x, 0, 1) * 2.0


@pytest.mark.parametrize("of", [f16, f32, f64], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_size(made, of, shape):
    made(turned, of[shape]).check()


@pytest.mark.parametrize("of", [i8, boolean], ids=str)
@pytest.mark.parametrize("shape", [(64, 160), (33, 129)], ids=str)
def test_one_byte(made, of, shape):
    made(lambda x: ops.transpose(x, 0, 1), of[shape]).check(
        -100 * (of is i8), 100 if of is i8 else 2
    )


def test_fused_with_what_is_around(made):
    several = made(
        lambda x, y, z: ops.relu(ops.transpose(x, 0, 1) * ops.transpose(y, 0, 1)) + z,
        f16[40, 48], f32[40, 48], f16[48, 40],
    )  # fmt: skip
    several.check()
    text, _ = several.build()
    assert "tile1" in text


def test_axes_around(made):
    made(lambda x: ops.permute(x, (0, 2, 1)) + 1.0, f16[3, 33, 40]).check()
    made(lambda x: ops.permute(x, (2, 0, 1)) + 1.0, f16[3, 33, 40]).check()
    made(lambda x: ops.permute(x, (0, 2, 3, 1)) + 1.0, f32[2, 16, 5, 20]).check()


def test_both_sides_move_sixteen_bytes(made):
    text, usage = made(turned, f16[256, 512]).build()
    assert text.count("load<f16, 8>(&x0[") == text.count("store(&out0[") == 2
    assert "store(&tile0[" in text
    assert [each.spill_bytes for each in usage.values()] == [0]


@pytest.mark.parametrize("of", [f16, f32], ids=str)
def test_whole_sectors_and_no_bank_conflicts(made, of):
    (kernel,) = made(turned, of[64, 128]).module.kernels
    x = np.ones((64, 128), of.numpy)
    report = sim.launch(lower(kernel), x, np.empty((128, 64), of.numpy))
    for each in report.accesses:
        assert each.conflicts == 0 or (of is f32 and each.verb == "load"), each
        assert each.served == each.least or each.scope == "shared", each


def test_heads_that_change_places_keep_their_innermost_axis(made):
    heads = made(lambda x: ops.permute(x, (0, 2, 1, 3)) * 2.0, f16[8, 128, 12, 64])
    text, _ = heads.build()
    assert "tile0" not in text
    assert "load<f16, 8>(&x0[" in text


def test_short_axes_need_no_tile(made):
    assert "tile0" not in str(made(turned, f32[1024, 3]).module.kernels[0])
