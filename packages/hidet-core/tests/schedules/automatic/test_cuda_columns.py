"""Reductions along axes that are not the innermost one."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.planning.recipe import room_of
from hidet.compute import Input
from hidet.ir.kernel import PdlTrigger
from hidet.passes.launches.signal_next import signals
from hidet.passes.pipeline import lower
from hidet.schedules.automatic.cuda.column_shape import choose_columns, power
from hidet.schedules.automatic.emit import row_level
from hidet.schedules.automatic.plan import plan
from hidet.target import Target
from hidet.types import f16, f32, f64, i8

HOPPER = Target.parse("sm_90a")

SHAPES = [(1, 33), (2, 7), (7, 2), (33, 129), (129, 64), (257, 8), (16, 1), (101, 24)]


@pytest.mark.parametrize("of", [f16, f32], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_and_extremes(made, of, shape):
    made(lambda x: ops.sum(x, (0,)), of[shape]).check()
    made(lambda x: ops.max(x * 2.0, (0,)), of[shape]).check()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_that_are_written_too(made, shape):
    made(lambda x: ops.softmax(x, 0), f32[shape]).check()


@pytest.mark.parametrize("of", [f64, f16], ids=str)
def test_axes_around_and_between(made, of):
    made(lambda x: ops.mean(x, (1,)), of[3, 37, 40]).check()
    made(lambda x: ops.mean(x, (0, 2)), of[5, 3, 11, 40]).check()
    made(lambda x: ops.softmax(x, 1), of[2, 19, 3, 8]).check()
    made(lambda x: ops.sum(x, (1,)), of[2, 5, 7, 3]).check()


def test_short_columns_fill_blocks_across_what_is_around_them(made):
    (kernel,) = made(lambda x: ops.sum(x, (1,)), f16[512, 8, 64]).module.kernels
    assert int(kernel.launch.block[0].value) == 256
    made(lambda x: ops.sum(x, (1,)), f16[33, 8, 64]).check()


def test_numbers_of_one_byte(made):
    found = made(lambda x: ops.max(x, (0,)), i8[33, 65]).check(-128, 127)
    assert found.dtype == np.int8


def test_operands_are_read_sixteen_bytes_at_a_time(made):
    text, usage = made(lambda x: ops.sum(x, (0,)), f16[1024, 65536]).build()
    assert "load_once<f16, 8>(&x0[" in text
    assert [each.spill_bytes for each in usage.values()] == [0]


def test_what_is_needed_again_stays_in_caches(made):
    shapes = f32[8200, 32], f32[32,]

    def once(function):
        kernels = made(function, *shapes).module.kernels
        return [var.name for kernel in kernels for var in kernel.once]

    assert once(lambda x, b: ops.sum(x * b, (0,))) == ["x0", "parts_of_out0"]
    assert once(lambda x, b: ops.softmax(x * b, 0)) == []
    made(lambda x, b: ops.sum(x * b, (0,)), *shapes).check(lowered=True)


@pytest.mark.parametrize(
    ("function", "down"),
    [
        (lambda x: x.sum((0,)), True),
        (lambda x: x.sum((1,)), False),
        (lambda x: x.sum((0, 1)), False),
    ],
)
def test_only_columns_are_taken(function, down):
    definition_input = Input("x", f32[64, 64])
    planned = plan([definition_input], [function(definition_input)])
    (stage,) = planned.stages
    assert (choose_columns(stage, row_level(stage), HOPPER) is not None) == down


@pytest.mark.parametrize(
    ("of", "grid", "threads", "cluster"),
    [
        (f16[4096, 4096], 128, 512, 2),
        (f32[4096, 4096], 128, 512, 1),
        (f16[8192, 2048], 256, 256, 8),
        (f16[65536, 1024], 128, 512, 8),
        (f16[4096, 20000], 313, 256, 1),
        (f16[1024, 65536], 512, 256, 1),
        (f16[512, 1024], 32, 512, 2),
        (f16[64, 4096], 32, 256, 1),
    ],
    ids=str,
)
def test_most_multiprocessors_have_a_block_in_the_smallest_clusters(
    made, of, grid, threads, cluster
):
    (kernel,) = made(lambda x: ops.sum(x, (0,)), of).module.kernels
    launch = kernel.launch
    assert (int(launch.grid[0].value), int(launch.block[0].value)) == (grid, threads)
    assert launch.cluster == (cluster, 1, 1)
    assert launch.min_blocks * threads == 1024


@pytest.mark.parametrize(
    ("shape", "when"),
    [
        ((4096, 4096), PdlTrigger.START),  # a place beside each block
        ((1024, 65536), PdlTrigger.END),  # none
        ((8192, 2048), PdlTrigger.END),  # in clusters of eight
        ((49, 2048), PdlTrigger.READ),
    ],
    ids=str,
)
def test_the_next_kernel_begins_where_it_finds_places_alike(made, shape, when):
    (kernel,) = made(lambda x: ops.sum(x, (0,)), f16[shape]).module.kernels
    assert kernel.launch.pdl_trigger is when
    lowered = lower(kernel, overlap=HOPPER.cores * HOPPER.max_threads_per_sm)
    assert signals(lowered) == (when is not PdlTrigger.END)
    room = room_of(lowered, HOPPER)
    assert (room is None) == (kernel.launch.cluster == (8, 1, 1))
    if room is not None:
        assert room.few == (1 if when is PdlTrigger.READ else room.most)


def test_blocks_tell_their_parts_and_wait_for_no_others(made):
    text, usage = made(lambda x: ops.sum(x, (0,)), f16[4096, 4096]).build()
    assert text.count("barrier.cluster.arrive") == text.count("barrier.cluster.wait") == 1
    assert text.count("st.async") == 1
    assert [each.spill_bytes for each in usage.values()] == [0]


def test_clusters_tell_parts_of_eight_bytes(made):
    largest = made(lambda x: ops.max(x, (0,)), f64[1029, 144])
    assert largest.module.kernels[0].launch.cluster == (8, 1, 1)
    largest.check(-100, 100)


def test_few_columns_are_summed_in_two_kernels(made):
    first, second = made(lambda x: ops.sum(x, (0,)), f32[32768, 100]).module.kernels
    assert first.launch.cluster == second.launch.cluster == (1, 1, 1)


@pytest.mark.parametrize(
    ("shape", "cluster"),
    [((2100, 3), 8), ((2100, 7), 8), ((1100, 33), 8), ((523, 129), 2), ((519, 26), 2)],
    ids=str,
)
def test_clusters_of_columns(made, shape, cluster):
    softmax = made(lambda x: ops.softmax(x, 0), f32[shape])
    assert softmax.module.kernels[0].launch.cluster == (cluster, 1, 1)
    softmax.check()


def test_columns_that_end_within_a_block(made):
    made(lambda x: ops.sum(x, (0,)), f16[515, 1032]).check(lowered=True)


@pytest.mark.parametrize("of", [f16, f32], ids=str)
def test_all_blocks_learn_what_a_later_reduction_needs(made, of):
    variance = made(lambda x: ops.var(x, 0), of[2100, 28])
    assert variance.module.kernels[0].launch.cluster == (8, 1, 1)
    variance.check(lowered=True)


def test_powers_of_two():
    assert [power(n) for n in (1, 2, 3, 8, 9, 16)] == [1, 2, 4, 8, 16, 16]
