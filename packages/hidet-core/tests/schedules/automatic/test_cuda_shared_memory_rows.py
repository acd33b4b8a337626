"""Long rows that blocks take one after the other, with what comes next on its way."""

from dataclasses import replace

import pytest

from hidet import ops
from hidet.target import Target
from hidet.types import f16, f32

HOPPER = Target.parse("sm_90a")
FEW = replace(HOPPER, cores=2)
"""So few multiprocessors that blocks are persistent."""


def launched(made):
    """Whether rows come through a pipeline, and the shape of the launch."""
    (kernel,) = made.module.kernels
    launch = kernel.launch
    return "prefetched0" in str(kernel), int(launch.grid[0].value), launch.cluster[0]


@pytest.mark.parametrize("norm", [ops.softmax, ops.layer_norm, ops.rms_norm])  # 2, 2, 1 reductions
def test_blocks_take_turns(made, norm):
    of = f16[5, 33032]
    found = made(lambda x: norm(x, -1) if norm is ops.softmax else norm(x), of, target=FEW)
    assert launched(found) == (True, 2, 1)
    found.check(lowered=True)


@pytest.mark.parametrize("norm", [ops.softmax, ops.layer_norm, ops.rms_norm])
@pytest.mark.parametrize("of", [f32[3, 36869], f32[3, 57344]], ids=str)
def test_clusters_take_turns(made, norm, of):
    found = made(lambda x: norm(x, -1) if norm is ops.softmax else norm(x), of, target=FEW)
    assert launched(found) == (True, 2, 2)
    found.check(lowered=True)


def test_a_row_needs_one_meeting(made):
    for of, reduction in ((f16[5, 33032], "syncthreads"), (f32[4, 36868], "mbarrier_wait")):
        for norm in (ops.layer_norm, lambda x: ops.softmax(x, -1)):
            (kernel,) = made(norm, of, target=FEW).module.kernels
            rows = str(kernel).split("for iteration")[1]
            assert rows.count(reduction) == 1
            assert "cluster" not in rows


ROWS, LENGTH = 6, 36869
"""An odd number of elements, so that threads have different numbers of them."""


def test_softmax_of_rows_that_are_special(made, is_right_softmax):
    softmax = made(lambda x: ops.softmax(x, -1), f32[ROWS, LENGTH], target=FEW)
    assert launched(softmax)[0]
    is_right_softmax(softmax)


def test_norms_of_rows_that_are_special(made, is_right_norm):
    norm = made(lambda x: ops.layer_norm(x), f32[ROWS, LENGTH], target=FEW)
    assert launched(norm)[0]
    is_right_norm(norm)


def test_turns_without_elements_to_write(made):
    variance = made(lambda x: ops.var(x, 1), f16[5, 40008], target=FEW)
    assert launched(variance)[0]
    variance.check(lowered=True)


def test_all_that_the_row_has_is_fetched(made):
    both, row = f16[3, 33032], f16[33032]
    norm = made(lambda x, y, w: ops.rms_norm(x + y, w), both, both, row, target=FEW)
    text = str(norm.module.kernels[0])
    assert "prefetched1" in text
    assert "prefetched2" not in text  # the weights are the same for all rows
    norm.check(lowered=True)


def test_weights_of_a_run_of_channels_are_not_fetched(made):
    norm = made(lambda x, w: ops.group_norm(x, 2, w), f16[3, 8, 130, 64], f16[8], target=FEW)
    text = str(norm.module.kernels[0])
    assert "prefetched0" in text
    assert "prefetched1" not in text
    norm.check(lowered=True)


@pytest.mark.parametrize(("of", "blocks"), [(f16[1024, 57336], 1), (f32[1024, 57340], 2)], ids=str)
def test_rows_come_by_copies_of_16_bytes(made, of, blocks):
    norm = made(
        lambda x, w, b: ops.layer_norm(x, w, b), of, of.dtype[of.shape[1:]], of.dtype[of.shape[1:]]
    )
    assert launched(norm) == (True, 128, blocks)
    text, usage = norm.build()
    (used,) = usage.values()
    stages, iterations = 13, 7
    assert text.count("cp.async.cg.shared.global") == stages + iterations
    assert text.count("cp.async.wait_group 6") == 1
    assert used.spill_bytes == 0


def test_rows_that_all_fit_are_not_taken_in_turns(made):
    assert not launched(made(lambda x: ops.softmax(x, -1), f16[132, 65536]))[0]


def test_devices_without_room_for_what_comes_next(made):
    norm = made(lambda x: ops.layer_norm(x), f16[1024, 65536], target=Target.parse("sm_80"))
    assert not launched(norm)[0]
