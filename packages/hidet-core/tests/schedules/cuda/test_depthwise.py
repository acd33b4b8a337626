"""Convolutions that keep channels apart, channels second and last."""

from dataclasses import replace

import numpy as np
import pytest

from hidet import sim
from hidet.codegen import cuda
from hidet.ops.windows.conv import Conv
from hidet.passes.pipeline import lower
from hidet.schedules import load
from hidet.schedules.base import candidates, gains_by_channels_last
from hidet.schedules.cuda.convolution.patch import Patch
from hidet.schedules.depthwise import Depthwise
from hidet.target import Target
from hidet.testing.fused import as_run
from hidet.toolchain.nvrtc import compile_cuda
from hidet.types import bf16, f16, f32

TARGET = Target.parse("sm_90a")
ONE = (1, 1)
SAME = (ONE, ONE)

APART = [
    Conv(f32[2, 5, 7, 6], f32[5, 1, 3, 3], f32[5], ONE, ((2, 2), (2, 2)), (2, 2), 5),
    Conv(f16[1, 3, 13, 15], f16[6, 1, 3, 5], None, (2, 2), ((1, 1), (2, 1)), ONE, 3),
    Conv(f16[2, 3, 5, 16], f16[3, 1, 3, 3], None, ONE, SAME, ONE, 3),
    Conv(f16[1, 2, 9, 24], f16[4, 1, 2, 5], f16[4], (2, 2), ((0, 1), (2, 2)), (3, 1), 2),
    Conv(f32[1, 3, 6, 28], f32[3, 1, 3, 4], None, (1, 3), ((1, 1), (5, 0)), (1, 2), 3),
    Conv(bf16[1, 4, 7, 7], bf16[4, 1, 7, 7], bf16[4], ONE, ((3, 3), (3, 3)), ONE, 4),
]
"""Odd rows, and rows of whole accesses; windows, steps and borders of many kinds."""


def last(op):
    """The same with its channels last."""
    n, c, h, w = op.x.shape
    k, _, *window = op.weight.shape
    x, weight = op.x.with_(shape=(n, h, w, c)), op.weight.with_(shape=(k, *window, 1))
    return replace(op, x=x, weight=weight, channels_last=True)


def simulated(op, name, count, check):
    """Some of the points that fit, the best one first, are right."""
    found = candidates(op, TARGET)
    assert load.LOADED
    assert {each.schedule.name for each in found} == {name}
    arrays = op.examples(seed=0)
    for candidate in found[:: -(-len(found) // count)]:
        out = np.full(op.infer().shape, 77, op.x.dtype.numpy)
        sim.launch(
            as_run(candidate.schedule.apply(op, TARGET, candidate.point).module), *arrays, out
        )
        check(op, arrays, out)


@pytest.mark.parametrize("op", APART, ids=str)
def test_channels_second(op, check):
    simulated(op, "depthwise_patches", 2 if op.window == (7, 7) else 5, check)


@pytest.mark.parametrize("op", [last(op) for op in APART[:4]], ids=str)
def test_channels_last(op, check):
    simulated(op, "depthwise_vectors", 5, check)


@pytest.mark.parametrize("of", [f16, f32], ids=str)
@pytest.mark.parametrize("step", [1, 2])
def test_rows_come_sixteen_bytes_at_a_time(of, step):
    op = Conv(of[32, 512, 64, 64], of[512, 1, 3, 3], None, (step, step), SAME, ONE, 512)
    best = candidates(op, TARGET)[0]
    module = best.schedule.apply(op, TARGET, best.point).module
    text = cuda.emit([lower(module.kernels[0])])
    name, lanes = {f16: ("f16", 8), f32: ("float", 4)}[of]
    assert f"<{name}, {lanes}>(&x[" in text
    assert "store(&y[" in text
    (usage,) = compile_cuda(text, arch="sm_90a").usage.values()
    assert usage.spill_bytes == 0
    assert usage.registers <= 128


def test_each_row_of_x_is_read_once():
    op = Conv(f32[1, 1, 9, 9], f32[1, 1, 3, 3], None, (2, 1), SAME, (3, 1), 1)
    patch = Patch(Depthwise(op), each=4, rows=2)
    assert patch.reach == 6
    assert patch.needed == [0, 2, 3, 5, 6, 8]
    assert [list(patch.uses(row)) for row in (0, 2, 3, 8)] == [
        [(0, 0)], [(1, 0)], [(0, 1)], [(1, 2)],
    ]  # fmt: skip


def test_they_follow_others_to_channels_last_and_do_not_ask_for_it():
    dense = Conv(f16[1, 32, 8, 8], f16[32, 32, 3, 3], None, ONE, SAME, ONE, 1)
    assert gains_by_channels_last(dense, TARGET)
    assert not gains_by_channels_last(replace(dense, weight=f16[32, 1, 3, 3], groups=32), TARGET)
