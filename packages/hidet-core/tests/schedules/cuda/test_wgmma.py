"""Products by warpgroups: odd sizes, all ways that operands lie, rings that go round, clusters, and
what fusion puts behind them, in the simulator; what NVRTC makes of them; the same on a GPU."""

from dataclasses import replace

import numpy as np
import pytest

from hidet import ops, sim
from hidet.build.choosing.choices import choices, has_schedule
from hidet.build.choosing.schedule import implement
from hidet.fusion import partition
from hidet.graph import evaluate, symbol, trace_from
from hidet.ir.expr import Var
from hidet.ir.stmt import Invoke
from hidet.ir.walk import find, variables
from hidet.ops.products.matmul import Linear, Matmul
from hidet.options import options
from hidet.passes.launches.overlap_launches import is_hint, is_wait, waits_first
from hidet.passes.launches.signal_next import signals
from hidet.passes.pipeline import lower
from hidet.schedules.base import SCHEDULES, Choice
from hidet.schedules.cuda.warpgroups.matmul import MatrixWarpgroups, by_wgmma, matmul_wgmma
from hidet.schedules.product import product_of
from hidet.schedules.space import from_json, to_json
from hidet.target import Target
from hidet.testing.as_meant import as_meant
from hidet.testing.compare import assert_close
from hidet.testing.fused import as_run
from hidet.testing.graphs import arrays_for
from hidet.types import bf16, f16, f32, i32

TARGET = Target.parse("sm_90a")
M = Var("m", i32)
P = MatrixWarpgroups
SMALL = P((64, 64), 3, 1)

CASES = [
    (Linear(f16[1, 8], f16[1, 8], f16[1]), SMALL),
    (Linear(f16[7, 136], f16[33, 136], f16[33]), SMALL),
    (Linear(bf16[3, 43, 520], bf16[129, 520], bf16[129]), P((128, 64), 4, 1)),
    (Linear(f16[129, 72], f16[130, 72], None), P((64, 128), 3, 1)),
    (Matmul(f16[129, 40], f16[40, 136]), P((64, 128), 3, 1)),
    (Matmul(f16[136, 72], f16[33, 136], True, True), P((64, 64), 3, 1)),
    (Matmul(bf16[3, 33, 104], bf16[3, 104, 72]), SMALL),
    (Matmul(f16[2, 3, 7, 64], f16[2, 3, 33, 64], False, True), SMALL),
    (Matmul(f16[5, 7, 64], f16[64, 40]), SMALL),
    (Matmul(f16[1, 7, 64], f16[3, 64, 40]), SMALL),
    (Linear(f16[33, 328], f16[17, 328], f16[17]), P((64, 64), 3, 2)),
    (Linear(bf16[130, 1032], bf16[7, 1032], None), P((128, 64), 4, 4)),
]
"""The last index of a and b has to be a multiple of 8; other sizes may be any."""


@pytest.mark.parametrize(("op", "point"), CASES, ids=str)
def test_odd_sizes(op, point, check, is_right_simulated):
    assert point.fits(op, TARGET)
    is_right_simulated(matmul_wgmma(op, TARGET, point).module, op, check)


@pytest.mark.parametrize("m", [1, 33, 129])
def test_a_size_known_at_run_time(m, check, is_right_simulated):
    op = Linear(f16[M, 72], f16[40, 72], f16[40])
    module = matmul_wgmma(op, TARGET, SMALL).module
    is_right_simulated(module, op.with_sizes(lambda size: m), check)


@pytest.mark.parametrize("m", [1, 5, 17])
def test_rows_of_a_multiple_of_sixteen_bytes(m, check, is_right_simulated):
    op = Matmul(f16[33, 72], f16[72, 8 * M])
    assert by_wgmma(product_of(op), TARGET)
    assert not by_wgmma(product_of(Matmul(f16[33, 72], f16[72, 4 * M])), TARGET)
    assert not by_wgmma(product_of(Linear(f16[33, 8 * M], f16[72, 8 * M], None)), TARGET)
    module = matmul_wgmma(op, TARGET, SMALL).module
    is_right_simulated(module, op.with_sizes(lambda size: 8 * m), check, m=m)


@pytest.mark.parametrize("point", [SMALL, P((64, 128), 3, 1), P((128, 192), 3, 1)], ids=str)
def test_blocks_take_tiles_in_turns(point, check, is_right_simulated):
    """Fewer blocks than tiles: the ring goes on where the tile before has left it."""
    one = replace(TARGET, cores=1)
    op = Matmul(f16[2, 130, 136], f16[2, 136, 136])
    module = matmul_wgmma(op, one, point).module
    assert int(module.kernels[0].launch.grid[0].value) < point.tiles(product_of(op))
    is_right_simulated(module, op, check)


@pytest.mark.parametrize("down", [8, 9, 17])
def test_whole_tiles_are_written_without_conditions(down):
    """However many rows of tiles there are at the end."""
    op = Linear(f16[64 * down, 136], f16[192, 136], None)
    (kernel,) = matmul_wgmma(op, TARGET, SMALL).module.kernels
    text = str(lower(kernel))
    assert f"< {64 * down})" not in text
    assert "< 192)" not in text


@pytest.mark.parametrize(("stages", "early"), [(8, ("bias",)), (3, ())])
def test_a_block_that_is_alone_loads_its_bias_ahead_of_the_sums(
    stages, early, check, is_right_simulated
):
    """One of several has no registers for it; without a bias there is nothing to load."""
    one, point = replace(TARGET, cores=1), P((64, 64), stages, 1)
    assert (point.resident(product_of(biased(True)), one) == 1) == bool(early)
    for has_bias, wanted in ((True, early), (False, ())):
        op = biased(has_bias)
        module = matmul_wgmma(op, one, point).module
        assert tuple(each.name for each in module.kernels[0].early) == wanted
        is_right_simulated(module, op, check)


@pytest.mark.parametrize(
    ("op", "ahead"),
    [
        (Linear(f16[65, 200], f16[131, 200], None), True),
        (Matmul(f16[2, 33, 136], f16[136, 72]), True),
        (Matmul(f16[2, 33, 136], f16[2, 136, 72]), False),
    ],
    ids=str,
)
@pytest.mark.parametrize("point", [P((64, 64), 2), P((64, 64), 8), P((64, 64), 2, 2)], ids=str)
def test_weights_are_brought_ahead_of_the_wait(op, point, ahead):
    """Those of as many turns as there is room for, whether or not there are so many; what comes
    from the kernel before is not, nor what each product of a stack has for itself."""
    (kernel,) = matmul_wgmma(op, TARGET, point).module.kernels
    assert [each.name for each in kernel.ahead] == ["b"] * ahead
    lowered = lower(kernel, overlap=1 << 20)
    place = next(i for i, s in enumerate(lowered.body) if is_wait(s))
    before = [s for s in find(lowered.body[:place], Invoke) if not is_hint(s)]
    brought = [each.tensor.name for each in lowered.maps if each.var in variables(before)]
    assert brought == ["b"] * ahead
    assert waits_first(lowered)
    assert signals(lowered)


@pytest.mark.parametrize(("cores", "stages", "quiet"), [(5, 8, True), (6, 8, False), (5, 2, False)])
def test_blocks_that_are_alone_and_take_tiles_in_turns_give_no_signal(cores, stages, quiet):
    """Some are done long before the others; of several on a multiprocessor the others go on."""
    some, point = replace(TARGET, cores=cores), P((64, 64), stages)
    op = Linear(f16[129, 72], f16[66, 72], None)
    assert point.tiles(product_of(op)) == 6
    (kernel,) = matmul_wgmma(op, some, point).module.kernels
    lowered = lower(kernel, overlap=1 << 20)
    assert waits_first(lowered)
    assert signals(lowered) != quiet
    unknown = matmul_wgmma(Linear(f16[M, 72], f16[66, 72], None), some, point).module
    assert signals(lower(unknown.kernels[0], overlap=1 << 20))


def biased(has_bias):
    """A product of several tiles."""
    return Linear(f16[65, 72], f16[131, 72], f16[131] if has_bias else None)


@pytest.mark.parametrize(
    "op",
    [
        Linear(f16[8, 129], f16[8, 129], None),  # rows that begin anywhere
        Matmul(f16[8, 16], f16[16, 33]),
        Matmul(f16[8, 16], f16[16, 32], dtype=f32),
        Linear(f16[16], f16[8, 16], None),
        Matmul(f16[8, M], f16[M, 8]),
        Matmul(f32[8, 16], f32[16, 8]),
        Matmul(f16[2, 1, 8, 16], f16[2, 3, 16, 8]),
    ],
    ids=str,
)
def test_what_the_copy_engine_cannot_bring(op):
    assert not by_wgmma(product_of(op), TARGET)


def test_where_there_are_no_warpgroups(takes_warpgroups):
    product = product_of(Linear(f16[64, 64], f16[64, 64], None))
    takes_warpgroups(lambda target: by_wgmma(product, target))


@pytest.mark.parametrize(("n", "most"), [(127, 2.5), (126, 1.6), (124, 1.5), (128, 1.0)])
def test_what_a_warp_writes_at_once_lies_together_wherever_rows_begin(n, most):
    """Sectors of memory that are written, by those that there are: up to 16 times as many where
    lanes wrote eight elements each, one after the other."""
    op = Linear(f16[64, 64], f16[n, 64], None)
    x, w = op.examples(seed=0)
    c = np.zeros((64, n), np.float16)
    report = sim.launch(as_run(matmul_wgmma(op, TARGET, P((64, 128), 2, 1)).module), x, w, c)
    written = sum(each.sectors for each in report.accesses if each.verb == "store")
    assert written <= most * c.nbytes / 32 + 64
    assert_close(c, x.astype(float) @ w.T.astype(float), op.results()[0].dtype, 64.0)


def behind(m=65, k=328, n=72):
    """A product with a bias, a function and a residual behind it."""
    x, w = symbol((m, k), "float16"), symbol((k, n), "float16")
    bias, residual = symbol((n,), "float16"), symbol((m, n), "float16")
    return trace_from([ops.relu(ops.matmul(x, w) + bias) + residual], [x, w, bias, residual])


def gate(m=7, k=328, n=72):
    """Two products with their columns in turns, one times the other."""
    x, w = symbol((m, k), "float16"), symbol((k, n), "float16")
    y = ops.matmul(x, w)
    return trace_from([ops.slice(y, -1, 0, None, 2) * ops.slice(y, -1, 1, None, 2)], [x, w])


def moved(m=6, k=328, n=40):
    """A product of which the rows become columns."""
    x, w = symbol((m, k), "float16"), symbol((k, n), "float16")
    return trace_from([ops.transpose(ops.matmul(x, w), 0, 1) * 2.0], [x, w])


@pytest.mark.parametrize("point", [SMALL, P((64, 64), 3, 2)], ids=str)
@pytest.mark.parametrize("make", [behind, gate, moved])
def test_what_is_fused_is_in_the_one_kernel(make, point, is_one_kernel):
    graph = make()
    is_one_kernel(graph, "matmul_wgmma", point)


def ahead(m, k, n):
    """A product of what is computed first."""
    x, w = symbol((m, k), "float16", device="cuda"), symbol((k, n), "float16", device="cuda")
    bias = symbol((n,), "float16", device="cuda")
    return trace_from([ops.relu(ops.matmul(x * 0.5, w) + bias)], [x, w, bias])


def test_small_products_take_in_what_comes_before_them():
    (group,) = partition(ahead(128, 64, 128), lambda op: has_schedule(op, TARGET))
    (made,) = implement(group, TARGET)
    assert made.schedule == "matmul_mma"


def test_large_products_have_it_computed_by_another_kernel():
    """What the copy engine reads has to be in memory; what comes after stays in the kernel."""
    (group,) = partition(ahead(4096, 4096, 4096), lambda op: has_schedule(op, TARGET))
    first, second = implement(group, TARGET)
    assert (first.schedule, second.schedule) == ("automatic", "matmul_wgmma")
    assert [node.op.name for node in second.group.nodes] == ["matmul", "add", "relu"]
    assert "whole tiles" in first.group.reason


def test_a_split_product_computes_the_same():
    graph = ahead(33, 72, 40)
    (group,) = partition(graph, lambda op: has_schedule(op, TARGET))
    group.choice = Choice("matmul_wgmma", SMALL)
    halves = [each.astype(np.float16) for each in arrays_for(graph)]
    values = dict(zip(graph.inputs, halves, strict=True))
    with options(parallel_k=1):
        parts = implement(group, TARGET)
    assert len(parts) == 2
    for made in parts:
        values[made.group.results[0]] = np.full(made.group.results[0].shape, np.nan, np.float16)
        given = [*made.group.inputs, *made.group.results]
        sim.launch(as_run(made.module), *(values[each] for each in given))
    (wanted,) = evaluate(graph, *halves)
    assert_close(values[graph.outputs[0]], wanted, graph.outputs[0].dtype, 64.0)


def test_a_matrix_times_itself():
    """One tensor is both operands: one parameter, of which there are two tensor maps."""
    x = symbol((33, 72), "float16")
    graph = trace_from([ops.matmul(x, x, transpose_b=True)], [x])
    (group,) = partition(graph, lambda op: has_schedule(op, TARGET))
    group.choice = Choice("matmul_wgmma", SMALL)
    with options(parallel_k=1):
        (made,) = implement(group, TARGET)
    array = np.random.default_rng(0).standard_normal((33, 72)).astype(np.float16)
    out = np.full((33, 33), np.nan, np.float16)
    sim.launch(as_run(made.module), array, out)
    assert_close(out, evaluate(graph, array)[0], f16, 64.0)


LARGE = Linear(f16[4000, 1024], f16[4000, 1024], f16[4000])


@pytest.mark.parametrize(
    "point",
    [
        P((128, 256), 4, 1),
        P((128, 192), 4, 1),
        P((64, 192), 3, 1),
        P((128, 128), 3, 1),
        P((128, 128), 4, 4),
        P((64, 256), 4, 1),
        P((64, 64), 6, 8),
    ],
    ids=str,
)
def test_the_compiler_leaves_it_as_it_is(point):
    """No product was serialised, no wait put in between, no register spilled."""
    assert point.fits(LARGE, TARGET)
    module = matmul_wgmma(LARGE, TARGET, point).module
    text = as_meant(map(lower, module.kernels))
    assert "load<f16, 8>(&staged" in text or point.slices > 1


@pytest.mark.parametrize(
    ("sizes", "measured"),
    [
        ((8192, 8192, 8192), {((128, 192), 1): 1447, ((128, 256), 1): 1473}),
        ((4096, 4096, 4096), {((128, 256), 1): 183}),
        ((1024, 1024, 1024), {((64, 128), 1): 5.3}),
        ((512, 3072, 2048), {((64, 192), 1): 11.5}),
        ((512, 2048, 2048), {((64, 128), 1): 8.4}),
        ((512, 16384, 2048), {((128, 256), 1): 48.5}),
        ((512, 2048, 8192), {((64, 128), 1): 27.1}),
        ((197, 3072, 768), {((64, 128), 1): 5.1}),
        ((197, 768, 3072), {((64, 128), 4): 7.9}),
        ((197, 768, 768), {((64, 64), 1): 4.0}),
        ((128, 3072, 768), {((64, 64), 1): 4.0}),
        ((128, 768, 3072), {((64, 64), 4): 5.6}),
    ],
    ids=str,
)
def test_the_model_likes_what_was_fastest(sizes, measured):
    """Microseconds on an H200, weights in no cache; the model is within a fifth of them."""
    m, n, k = sizes
    best = choices(Linear(f16[m, k], f16[n, k], None), TARGET)[0]
    assert best.schedule.name == "matmul_wgmma"
    assert (best.point.block, best.point.slices) in measured
    assert best.seconds * 1e6 == pytest.approx(
        measured[best.point.block, best.point.slices], rel=0.2
    )


@pytest.mark.parametrize("sizes", [(100352, 256, 64), (25088, 512, 128)], ids=str)
def test_several_blocks_share_a_multiprocessor_where_most_is_writing(sizes):
    """22 and 15 us on an H200; one block of 64 x 128 at a time took 37 and 23."""
    m, n, k = sizes
    op = Linear(f16[m, k], f16[n, k], None)
    best = choices(op, TARGET)[0].point
    assert best.resident(product_of(op), TARGET) > 1
    assert P((128, 256), 4, 1).resident(product_of(op), TARGET) == 1


ON_THE_GPU = [
    *CASES,
    (LARGE, P((128, 256), 4, 1)),
    (LARGE, P((128, 128), 3, 1)),
    (LARGE, P((64, 128), 8, 1)),
    (Matmul(bf16[1000, 2048], bf16[2048, 1000]), P((128, 128), 4, 4)),
]


@pytest.mark.parametrize(("op", "point"), ON_THE_GPU, ids=str)
def test_every_point_here_is_one_of_the_space(op, point):
    assert from_json(P, to_json(point)) == point
    assert point in set(matmul_wgmma_points(op))


def matmul_wgmma_points(op):
    (schedule,) = (each for each in SCHEDULES if each.name == "matmul_wgmma")
    return schedule.fitting(op, TARGET)


@pytest.mark.gpu
@pytest.mark.parametrize(("op", "point"), ON_THE_GPU, ids=str)
def test_on_the_gpu(op, point, check, is_right_on_the_gpu):
    is_right_on_the_gpu(matmul_wgmma(op, TARGET, point).module, op, check)
