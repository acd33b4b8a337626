"""What a schedule is told of what follows sums that it brings through shared memory."""

import pytest

from hidet import ops
from hidet.fusion.accumulator_epilogue import accumulator_epilogue, has_accumulator_epilogue
from hidet.fusion.fuse import fuse
from hidet.graph import symbol, trace_from
from hidet.ir.expr import FromAccumulators
from hidet.ir.walk import find
from hidet.options import options
from hidet.schedules.base import SCHEDULES, AccumulatorEpilogue
from hidet.schedules.cuda.warpgroups.matmul import MatrixWarpgroups
from hidet.target import Target
from hidet.testing.fused import groups_in

TARGET = Target.parse("sm_90a")
FOLLOWS = {
    "nothing": (lambda y, z, s: y, None),
    "what takes the larger one": (lambda y, z, s: ops.relu(y), None),
    "a function": (lambda y, z, s: ops.gelu(y), AccumulatorEpilogue(False)),
    "a number": (lambda y, z, s: ops.relu(y * 0.5 + 1.0), AccumulatorEpilogue(False)),
    "turned": (lambda y, z, s: ops.permute(ops.tanh(y), (1, 0)), AccumulatorEpilogue(False)),
    "neighbours": (
        lambda y, z, s: ops.slice(y, -1, 0, None, 2) * ops.slice(y, -1, 1, None, 2),
        AccumulatorEpilogue(True),
    ),
    "a factor of columns": (lambda y, z, s: y * s, None),
    "a residual": (lambda y, z, s: ops.relu(y + z), None),
    "another type": (lambda y, z, s: ops.cast(y * 0.1, "float32"), None),
    "several results": (lambda y, z, s: [ops.gelu(y), y * 0.1], None),
    "its own sums too": (lambda y, z, s: [y, ops.gelu(y)], None),
}


def group_of(make, size=64):
    """The one group of a product and what follows it."""
    shapes = (size, size), (size, size), (size, size), (size,)
    x, w, z, s = inputs = [symbol(each, "float16") for each in shapes]
    made = make(ops.matmul(x, w), z, s)
    (group,) = groups_in(trace_from(made if isinstance(made, list) else [made], inputs), TARGET)
    return group


@pytest.mark.parametrize("name", FOLLOWS)
def test_what_is_told(name):
    make, after = FOLLOWS[name]
    assert accumulator_epilogue(group_of(make)) == after


def test_rounded_each_nothing_is():
    with options(round_each=True):
        assert accumulator_epilogue(group_of(FOLLOWS["a function"][0])) is None


@pytest.mark.parametrize("name", ["a function", "neighbours"])
def test_fused_no_hook_is_left(name):
    group = group_of(FOLLOWS[name][0])
    (schedule,) = (each for each in SCHEDULES if each.name == "matmul_wgmma")
    point = MatrixWarpgroups((64, 64), 3, 1)
    module = schedule.apply(group.anchor.op, TARGET, point, accumulator_epilogue(group)).module
    (kernel,) = module.kernels
    assert [*find(kernel.body, FromAccumulators)]
    (made,) = fuse(group, module).kernels
    assert not [*find(made.body, FromAccumulators)]


def test_sums_that_blocks_share_are_read_in_float32_anyway():
    """There `put` has them: nothing is to be computed on accumulators."""
    group = group_of(FOLLOWS["a function"][0], 256)
    (schedule,) = (each for each in SCHEDULES if each.name == "matmul_wgmma")
    point = MatrixWarpgroups((64, 64), 3, 2)
    assert not has_accumulator_epilogue(
        schedule.apply(group.anchor.op, TARGET, point, accumulator_epilogue(group)).module
    )
