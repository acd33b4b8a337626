"""Small windows along rows: pools, and convolutions of channels by themselves."""

from dataclasses import replace

import pytest

from hidet import ops
from hidet.target import Target
from hidet.types import bf16, f16, f32

HOPPER = Target.parse("sm_90a")
FEW = replace(HOPPER, cores=1)
"""A target that is busy with little, so that small tensors are enough."""

POOLS = [
    lambda x: ops.max_pool(x, 2),
    lambda x: ops.max_pool(x, 3, stride=2, padding=1),
    lambda x: ops.max_pool(x, 3, stride=1, padding=1),
    lambda x: ops.max_pool(x, (2, 3), stride=(1, 3), dilation=(2, 2)),
    lambda x: ops.avg_pool(x, 3, stride=1, padding=1, count_include_pad=False),
    lambda x: ops.avg_pool(x, 5, stride=2, padding=2),
]
"""Windows that share much, little and nothing, with borders and without."""


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("of", [f16[3, 5, 13, 48], f32[2, 7, 9, 36], bf16[1, 129, 4, 24]], ids=str)
def test_pools(made, pool, of):
    made(pool, of, target=FEW).check(factor=64)


@pytest.mark.parametrize("of", [f16, f32], ids=str)
def test_operands_before_and_after(made, of):
    def function(x, bias, y):
        return ops.relu(ops.max_pool(x * 2.0 + bias, 3, stride=2, padding=1) - y)

    made(function, of[2, 7, 11, 48], of[7, 1, 1], of[2, 7, 6, 24], target=FEW).check(factor=64)


def test_windows_of_a_weight(made):
    """A convolution along one axis that keeps channels apart has no schedule of its own."""

    def function(x, weight):
        return ops.conv(x, weight, padding=2, groups=33)

    made(function, f16[5, 33, 48], f16[33, 1, 5], target=FEW).check(factor=64)


@pytest.mark.parametrize("of", [f16, f32], ids=str)
def test_a_row_is_read_sixteen_bytes_at_a_time(made, of):
    text, usage = made(lambda x: ops.max_pool(x, 2), of[32, 64, 64, 64]).build()
    name = {"f16": "f16", "f32": "float"}[of.short]
    lanes = 16 // of.nbytes
    assert text.count(f"load<{name}, {lanes}>(&x0[") == 2
    assert f"Vec<{name}, {lanes // 2}>{{{{" in text
    assert [each.spill_bytes for each in usage.values()] == [0]


@pytest.mark.parametrize(
    ("pool", "of"),
    [
        (lambda x: ops.max_pool(x, 2), f16[32, 512, 62, 62]),  # rows of 31 elements
        (lambda x: ops.max_pool(x, 2), f16[1, 3, 32, 32]),  # too little for all threads
        (lambda x: ops.avg_pool(x, 16), f16[32, 512, 64, 64]),  # large windows
        (lambda x: ops.sum(x, (3,)), f16[32, 512, 64, 64]),  # nothing shared
    ],
)
def test_what_is_left_to_others(made, pool, of):
    text, _ = made(pool, of).build()
    assert "x0_row" not in text


def test_a_sum_of_what_a_sum_is_made_of_is_no_window(made):
    spread = lambda a, b: ops.var(b / a + b, [0], keepdims=True, correction=0)
    made(spread, bf16[1, 7], bf16[3, 1], target=FEW).check(factor=64)
