"""Long rows that persistent clusters take, through a pipeline into registers."""

from dataclasses import replace

import pytest

from hidet import ops
from hidet.passes.pipeline import lower
from hidet.schedules.automatic.cuda import persistent_clusters
from hidet.target import Target
from hidet.types import boolean, f16, f32

HOPPER = Target.parse("sm_90a")
KIB = 1024
FEW = replace(HOPPER, cores=3, shared_bytes_per_sm=181 * KIB, max_shared_bytes_per_block=180 * KIB)
"""So few multiprocessors that blocks are persistent."""


@pytest.fixture
def short(monkeypatch):
    """Rows of any length and alignment: short ones take less time here."""
    monkeypatch.setattr(persistent_clusters, "BLOCKS", 1)
    monkeypatch.setattr(persistent_clusters, "ENOUGH", 1)
    monkeypatch.setattr(persistent_clusters, "WIDE", 4)


def launched(made):
    """Whether rows come through a pipeline, and the shape of the launch."""
    (kernel,) = made.module.kernels
    launch = kernel.launch
    return (
        "invariant" in str(kernel) or "first" in str(kernel),
        int(launch.grid[0].value),
        launch.cluster[0],
    )


def norms():
    """Functions with two, two, and one reduction of a row."""
    return pytest.mark.parametrize(
        "norm", [lambda x: ops.softmax(x, -1), ops.layer_norm, ops.rms_norm], ids=["s", "l", "r"]
    )


@norms()
@pytest.mark.parametrize("of", [f32[5, 16417], f32[5, 16420], f16[5, 16418]], ids=str)
def test_persistent_clusters_and_one_for_each_remaining_row(made, norm, of, short):
    found = made(norm, of, target=FEW)
    assert launched(found) == (True, 4 * (2 + 1), 4)  # two take two rows each
    found.check(lowered=True)


def test_a_cluster_of_eight(made, short):
    found = made(lambda x: ops.softmax(x, -1), f16[3, 33032], target=FEW)
    assert launched(found) == (True, 8 * 2, 8)
    found.check(lowered=True)


@pytest.mark.parametrize("rows", [6, 7])
def test_numbers_of_rows(made, rows, short):
    found = made(lambda x: ops.layer_norm(x), f32[rows, 16420], target=FEW)
    assert launched(found)[0]
    found.check(lowered=True)


@norms()
@pytest.mark.parametrize("of", [f16[5, 16418], f32[5, 16420]], ids=str)
def test_a_row_needs_one_synchronisation(made, norm, of, short):
    (kernel,) = made(norm, of, target=FEW).module.kernels
    rows = str(kernel).split("for iteration")[1]
    assert rows.count("mbarrier_wait") == 1
    assert "cluster" not in rows


ROWS, LENGTH = 6, 16417
"""An odd number of elements, so that threads have different numbers of them."""


def test_softmax_of_rows_that_are_special(made, is_right_softmax, short):
    softmax = made(lambda x: ops.softmax(x, -1), f32[ROWS, LENGTH], target=FEW)
    assert launched(softmax)[0]
    is_right_softmax(softmax)


def test_norms_of_rows_that_are_special(made, is_right_norm, short):
    norm = made(lambda x: ops.layer_norm(x), f32[ROWS, LENGTH], target=FEW)
    assert launched(norm)[0]
    is_right_norm(norm)


def test_reductions_without_elements_to_write(made, short):
    variance = made(lambda x: ops.var(x, 1), f32[5, 16420], target=FEW)
    assert launched(variance)[0]
    variance.check(lowered=True)


def test_all_that_the_row_has_is_fetched(made, short):
    both, row = f32[5, 16420], f32[16420]
    norm = made(lambda x, y, w: ops.rms_norm(x + y, w), both, both, row, target=FEW)
    text = str(norm.module.kernels[0])
    assert "prefetched1" in text
    assert "prefetched2" not in text  # the weights are the same for all rows
    norm.check(lowered=True)


def test_what_is_needed_last_leaves_the_pipeline_with_the_rest(made, short):
    both = f32[5, 16420]
    found = made(lambda x, y: ops.softmax(x, -1) * y, both, both, target=FEW)
    (kernel,) = found.module.kernels
    row = str(kernel).split("for iteration")[1]
    assert "prefetched1" in row
    assert kernel.launch.block[0].value == 512  # half as many elements for each thread
    assert row.rindex("prefetched") < row.index("shfl_xor")
    found.check(lowered=True)


def test_a_mask_comes_with_its_row(made, short):
    both = f32[5, 16420], boolean[5, 16420]
    found = made(lambda x, m: ops.softmax(ops.where(m, x, -9.0), -1), *both, target=FEW)
    assert "prefetched1" in str(found.module.kernels[0])
    found.check(lowered=True)


def test_weights_last_for_all_rows(made, short):
    norm = made(lambda x, w: ops.rms_norm(x, w), f32[5, 16420], f32[16420], target=FEW)
    before, rows = str(norm.module.kernels[0]).split("for iteration")
    assert before.count("invariant0") == 2  # declared and filled
    assert "invariant0" in rows
    assert "x1" not in rows
    norm.check(lowered=True)


def test_weights_without_room_are_read_for_each_row(made):
    of = f32[1024, 65536]
    norm = made(ops.rms_norm, of, f32[65536])
    assert launched(norm)[2] == 8
    assert "invariant" not in str(norm.module.kernels[0])


@pytest.mark.parametrize(
    ("of", "weight", "blocks"),
    [
        (f32[1024, 65536], f32[65536], 2),  # twice as many bytes of weights as of a row
        (f16[1024, 65536], f16[65536], 8),  # they have room
        (f32[512, 131072], f32[131072], 8),  # more than two blocks would have to hold a row
    ],
    ids=str,
)
def test_rows_beside_heavier_weights_stay_in_shared_memory(made, of, weight, blocks):
    norm = made(lambda x, w, b: ops.layer_norm(x, w, b), of, weight, weight)
    assert launched(norm)[2] == blocks


def test_weights_of_a_run_of_channels_are_not_fetched(made, short):
    norm = made(lambda x, w: ops.group_norm(x, 2, w), f32[3, 8, 65, 64], f32[8], target=FEW)
    text = str(norm.module.kernels[0])
    assert "prefetched0" in text
    assert "prefetched1" not in text
    assert "invariant" not in text
    norm.check(lowered=True)


@pytest.mark.parametrize(
    ("function", "of", "power"),
    [
        (ops.softmax, f16, "exp2_approx"),
        (ops.softmax, f32, "exp"),
        (ops.log_softmax, f16, "exp"),  # the logarithm of a sum near one shows what it loses
    ],
)
def test_a_power_is_computed_once_and_to_few_bits_if_rounded(made, function, of, power):
    found = made(lambda x: function(x, -1), of[1024, 65536])
    (text, _) = found.build()
    rows = text.split("for (int iteration")[1]
    each = {"exp2_approx": "exp2_or_0(", "exp": "expf("}
    elements = 32
    others = rows.count("expf(") - (elements if power == "exp" else 0)
    assert rows.count(each[power]) >= elements
    assert rows.count("exp2_or_0(") == (elements if power == "exp2_approx" else 0)
    assert others <= 16


@pytest.mark.parametrize(
    ("function", "of", "stages"),
    [
        (lambda x, w, b: ops.layer_norm(x, w, b), f16[1024, 65536], 5),
        (lambda x, w, b: ops.rms_norm(x, w) + b, f16[1024, 65536], 5),
        (lambda x, w, b: ops.softmax(x * w[0] + b[0], -1), f32[1024, 65536], 13),
    ],
    ids=["layer norm", "rms norm", "softmax"],
)
def test_rows_come_by_copies_of_16_bytes(made, function, of, stages):
    norm = made(function, of, of.dtype[65536], of.dtype[65536])
    assert launched(norm)[0]
    text, usage = norm.build()
    (used,) = usage.values()
    iterations = 65536 // (8 * 256) // (16 // of.dtype.nbytes)
    weights = 2 * iterations if of.dtype is f16 else 0
    assert text.count("cp.async.cg.shared.global") == stages + iterations + weights
    assert "cp.async.ca" not in text
    assert text.count(f"cp.async.wait_group {stages - iterations}") == 1
    assert used.registers <= 64  # four blocks of a multiprocessor
    assert used.spill_bytes <= 16


def test_four_blocks_have_a_multiprocessor(made):
    (kernel,) = made(lambda x: ops.softmax(x, -1), f16[1024, 65536]).module.kernels
    assert kernel.launch.min_blocks == 4
    blocks = HOPPER.resident_blocks(256, lower(kernel).launch.shared_bytes, 64)
    assert blocks == 4


def test_rows_that_all_fit_have_no_persistent_clusters(made):
    assert not launched(made(lambda x: ops.softmax(x, -1), f16[137, 65536]))[0]


def test_devices_without_clusters(made):
    norm = made(lambda x: ops.layer_norm(x), f16[1024, 65536], target=Target.parse("sm_80"))
    assert not launched(norm)[0]


@pytest.mark.parametrize("of", [f32[2048, 32768], f16[2048, 40960], f32[1024, 60001]], ids=str)
def test_rows_that_gain_nothing(made, of):
    """Few elements for each thread, or copies of four bytes."""
    norm = made(lambda x: ops.layer_norm(x), of)
    assert launched(norm)[0] is False
    assert "prefetched0" in str(norm.module.kernels[0])
