"""Matmuls that produce or consume statistics of rows: odd sizes in the simulator, rows
far from zero or without numbers, what fusion puts behind them; what NVRTC makes of them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from hidet import ops, sim
from hidet.build.choosing.choices import choices
from hidet.driver import build_ir_module
from hidet.graph import evaluate, symbol, trace_from
from hidet.ir.expr import Var
from hidet.ops.reductions.partial_statistics import RUN, LinearMoments, NormedLinear
from hidet.passes.pipeline import lower
from hidet.runtime.binding.memory import array_of, to_device
from hidet.schedules.cuda.normed.matmul import (
    ConsumerTiles,
    ProducerTiles,
    by_warpgroups_of,
    linear_moments_wgmma,
    normed_linear_wgmma,
    rows_product,
)
from hidet.target import Target
from hidet.testing.as_meant import as_meant
from hidet.testing.compare import assert_close
from hidet.testing.fused import as_run, groups_of, simulated
from hidet.testing.graph_passes import weight
from hidet.testing.graphs import arrays_for
from hidet.types import bf16, f16, f32, i32

TARGET = Target.parse("sm_90a")
M = Var("m", i32)


def producer(rows, n, k, of=f16, bias=True, transpose_b=True, gain=True):
    """An operator that produces statistics of `rows`, and these times a gain."""
    weight = of[n, k] if transpose_b else of[k, n]
    shift = of[n] if bias else None
    factor = of[n] if gain else None
    return LinearMoments(
        of[*rows, k], weight, shift, of[*rows, n], gain=factor, transpose_b=transpose_b
    )


def normed_residual(rows, n, k, of=f16, bias=True, transpose_b=True, gain=True):
    """An operator that produces statistics of `rows`, beside rows that are yet to be normed."""
    shift, before = f32[n] if bias else None, f32[*rows, n // RUN, 2]
    plain = producer(rows, n, k, of, bias, transpose_b, gain)
    return replace(plain, bias=shift, residual_moments=before, residual_gain=of[n], eps=1e-5)


def consumer(rows, n, k, of=f16, bias=True, transpose_b=True):
    """An operator that norms `rows`."""
    weight = of[n, k] if transpose_b else of[k, n]
    moments, sums, shift = f32[*rows, k // RUN, 2], f32[n], f32[n] if bias else None
    return NormedLinear(of[*rows, k], weight, moments, sums, shift, transpose_b, 1e-5)


PRODUCERS = [
    (producer((1,), 64, 8), ProducerTiles((64, 64), 8, 1)),
    (producer((2,), 128, 40, bias=False, gain=False), ProducerTiles((64, 64), 8, 1)),
    (producer((7,), 192, 136), ProducerTiles((64, 128), 6, 1)),
    (producer((3, 43), 64, 72, bf16, transpose_b=False), ProducerTiles((128, 64), 6, 1)),
    (producer((131,), 320, 72, bias=False), ProducerTiles((128, 128), 4, 1)),
    (producer((7,), 192, 328, gain=False), ProducerTiles((64, 64), 3, 2)),
    (producer((2, 65), 64, 520, bf16, bias=False), ProducerTiles((128, 64), 3, 4)),
    (producer((1,), 192, 1032), ProducerTiles((64, 128), 2, 8)),
]
NORMED_RESIDUALS = [
    (normed_residual((1,), 64, 8), ProducerTiles((64, 64), 8, 1)),
    (normed_residual((7,), 192, 136, gain=False), ProducerTiles((64, 128), 6, 1)),
    (normed_residual((3, 43), 64, 72, bf16, transpose_b=False), ProducerTiles((128, 64), 6, 1)),
    (normed_residual((131,), 320, 72, bias=False), ProducerTiles((128, 128), 4, 1)),
    (normed_residual((7,), 192, 328), ProducerTiles((64, 64), 3, 2)),
    (normed_residual((2, 65), 64, 520, bf16, bias=False), ProducerTiles((128, 64), 3, 4)),
    (normed_residual((7,), 1088, 136), ProducerTiles((64, 64), 8, 2)),
    (normed_residual((2,), 192, 1032), ProducerTiles((64, 128), 2, 8)),
    (normed_residual((7,), 384, 520, gain=False), ProducerTiles((64, 192), 3, 4)),
]
CONSUMERS = [
    (consumer((1,), 7, 64), ConsumerTiles((64, 64), 8, 1)),
    (consumer((2,), 129, 128, bias=False), ConsumerTiles((64, 64), 8, 1)),
    (consumer((7,), 40, 192), ConsumerTiles((64, 128), 6, 1)),
    (consumer((3, 43), 136, 320, bf16, transpose_b=False), ConsumerTiles((128, 64), 6, 1)),
    (consumer((131,), 200, 1024, bias=False), ConsumerTiles((128, 128), 4, 1)),
    (consumer((65,), 33, 768), ConsumerTiles((64, 128), 8, 1)),
    (consumer((67,), 200, 128), ConsumerTiles((64, 192), 6, 1)),
]


@cache
def built(op, point, target=TARGET):
    """The operator's module at a point that fits it."""
    schedule = linear_moments_wgmma if isinstance(op, LinearMoments) else normed_linear_wgmma
    assert by_warpgroups_of(op, TARGET)
    assert point.fits(op, TARGET)
    return schedule(op, target, point).module


def in_simulator(op, module, arrays):
    """What an operator's module gives in the simulator, as it is launched."""
    found = [np.full(each.shape, 77, each.dtype.numpy) for each in op.results()]
    sim.launch(lowered(module), *arrays, *found)
    return found


lowered = cache(as_run)
"""A module after all passes."""


def true_moments(rows):
    """The moments of rows, in float64."""
    runs = np.asarray(rows, np.float64).reshape(*rows.shape[:-1], -1, RUN)
    return np.stack([runs.mean(-1), runs.var(-1) * RUN], -1)


def produces(op, module, arrays, run=in_simulator):
    """The rows are right, and the moments are those of the very rows that were written."""
    rows, moments, *scaled = run(op, module, arrays)
    wide = [np.asarray(each, np.float64) for each in arrays]
    wanted, _, *wanted_scaled = op.reference(*op.arrange(wide))
    for found, right in zip([rows, *scaled], [wanted, *wanted_scaled], strict=True):
        assert_close(found, right, op.x.dtype, op.factor)
    assert_close(moments, true_moments(rows), f32, 64)


@pytest.mark.parametrize(("op", "point"), PRODUCERS + NORMED_RESIDUALS, ids=str)
def test_moments_of_odd_sizes(op, point):
    produces(op, built(op, point), op.examples(seed=0))


@pytest.mark.parametrize(("op", "point"), CONSUMERS, ids=str)
def test_norms_of_odd_sizes(op, point):
    consumes(op, built(op, point), op.examples(seed=0))


def consumes(op, module, arrays, run=in_simulator, distance=0.0):
    """Rows normed by their own moments are right, wherever they are."""
    rows, weight, _, _, *bias = arrays
    rows = (np.asarray(rows, np.float32) + distance).astype(op.x.dtype.numpy)
    wide = np.asarray(weight, np.float64)
    sums = wide.sum(1 if op.transpose_b else 0).astype(np.float32)
    moments = true_moments(rows).astype(np.float32)
    (found,) = run(op, module, [rows, weight, moments, sums, *bias])
    x = np.asarray(rows, np.float64)
    away = x - x.mean(-1, keepdims=True)
    normed = away / np.sqrt(np.square(away).mean(-1, keepdims=True) + op.eps)
    wanted = normed @ (wide.T if op.transpose_b else wide)
    wanted = wanted + bias[0] if bias else wanted
    assert_close(found, wanted, op.x.dtype, 4)


@pytest.mark.parametrize("distance", [20.0, 1000.0])
def test_rows_far_from_zero(distance):
    """A mean of 20 and of 1000 deviations: what is taken off is as large as what it is taken of."""
    op, point = consumer((7,), 33, 192), ConsumerTiles((64, 64), 8, 1)
    consumes(op, built(op, point), op.examples(seed=0), distance=distance)


@pytest.mark.parametrize("slices", [1, 2])
def test_moments_of_rows_far_from_zero(slices):
    op, point = producer((7,), 192, 264), ProducerTiles((64, 64), 8, slices)
    *others, residual, gain = op.examples(seed=0)
    produces(op, built(op, point), [*others, residual + np.float16(1000), gain])


@pytest.mark.parametrize("distance", [20.0, 1000.0])
@pytest.mark.parametrize("slices", [1, 2])
def test_a_residual_far_from_zero_is_normed(distance, slices):
    """Its mean is taken off before anything else is done with it."""
    op, point = normed_residual((7,), 192, 264), ProducerTiles((64, 64), 8, slices)
    *others, residual, _, before, gain = op.examples(seed=0)
    residual = residual + np.float16(distance)
    moments = true_moments(residual).astype(np.float32)
    produces(op, built(op, point), [*others, residual, moments, before, gain])


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan])
def test_a_row_without_numbers_stays_one(wrong):
    """A norm of it is NaN, and so is a product with that; the other rows are right."""
    first, second = producer((7,), 64, 40, gain=False), consumer((7,), 33, 64)
    *others, residual = first.examples(seed=0)
    residual = residual.copy()
    residual[3, 5] = wrong
    point = ProducerTiles((64, 64), 8, 1)
    rows, moments = in_simulator(first, built(first, point), [*others, residual])
    _, weight, _, *vectors = second.examples(seed=1)
    weight[:, 5] = np.where(np.arange(33) % 2, weight[:, 5], 0)
    given = [rows, weight, moments, *vectors]
    (found,) = in_simulator(second, built(second, ConsumerTiles((64, 64), 8, 1)), given)
    assert np.isnan(found[3]).all()
    assert np.isfinite(np.delete(found, 3, 0)).all()


@pytest.mark.parametrize("m", [1, 33, 129])
def test_a_size_known_at_run_time(m):
    first, second = producer((M,), 64, 72), consumer((M,), 40, 64)
    known = [each.with_sizes(lambda size: m) for each in (first, second)]
    produces(known[0], built(first, ProducerTiles((64, 64), 8, 1)), known[0].examples(seed=0))
    consumes(known[1], built(second, ConsumerTiles((64, 64), 8, 1)), known[1].examples(seed=0))


@pytest.mark.parametrize("block", [(64, 64), (64, 128)])
def test_blocks_take_tiles_in_turns(block):
    """Fewer blocks than tiles: the ring goes on where the tile before has left it."""
    one = replace(TARGET, cores=1)
    for op, point in (
        (producer((130,), 256, 136), ProducerTiles(block, 8, 1)),
        (consumer((130,), 200, 128), ConsumerTiles(block, 8, 1)),
    ):
        module = built(op, point, one)
        assert int(module.kernels[0].launch.grid[0].value) < point.tiles(rows_product(op))
        (produces if isinstance(op, LinearMoments) else consumes)(op, module, op.examples(seed=0))


def gate(m=7, k=128, n=72):
    """A product of normed rows with its columns in turns, one times the other."""
    rows, weight = symbol((m, k), "float16"), symbol((n, k), "float16")
    moments, sums = symbol((m, k // RUN, 2), "float32"), symbol((n,), "float32")
    y = ops.normed_linear(rows, weight, moments, sums, eps=1e-6)
    halves = (ops.slice(y, -1, start, None, 2) for start in (0, 1))
    return trace_from([next(halves) * ops.silu(next(halves))], [rows, weight, moments, sums])


def test_what_follows_is_in_the_one_kernel(fused):
    graph = gate()
    module = fused(graph, "normed_linear_wgmma", ConsumerTiles((64, 64), 8, 1))
    arrays = [a.astype(t.dtype.numpy) for a, t in zip(arrays_for(graph), graph.inputs, strict=True)]
    arrays[2] = true_moments(arrays[0]).astype(np.float32)
    found = np.full((7, 36), np.nan, np.float16)
    sim.launch(as_run(module), *arrays, found)
    assert_close(found, evaluate(graph, *arrays)[0], f16, 64)


LARGE = [
    (producer((512,), 2048, 2048), ProducerTiles((64, 128), 8, 1)),
    (producer((4096,), 2048, 2048), ProducerTiles((128, 128), 6, 1)),
    (producer((197,), 768, 3072), ProducerTiles((64, 128), 8, 4)),
    (producer((128,), 768, 3072), ProducerTiles((64, 64), 8, 4)),
    (normed_residual((128,), 768, 3072), ProducerTiles((64, 64), 8, 4)),
    (normed_residual((256,), 768, 768), ProducerTiles((64, 64), 8, 1)),
    (normed_residual((128,), 1024, 4096), ProducerTiles((64, 192), 4, 8)),
    (normed_residual((512,), 768, 3072), ProducerTiles((64, 256), 3, 4)),
    (normed_residual((4096,), 2048, 2048), ProducerTiles((128, 128), 6, 1)),
    (consumer((197,), 3072, 768), ConsumerTiles((64, 128), 8, 1)),
    (consumer((128,), 3072, 768), ConsumerTiles((64, 64), 8, 1)),
    (consumer((512,), 3072, 768), ConsumerTiles((64, 192), 6, 1)),
    (consumer((8192,), 16384, 2048), ConsumerTiles((128, 128), 6, 1)),
]


@pytest.mark.parametrize(("op", "point"), LARGE, ids=str)
def test_the_compiler_leaves_it_as_it_is(op, point):
    """No product was serialised, no wait put in between, no register spilled."""
    as_meant(map(lower, built(op, point).kernels))


def block(rows=65, width=256, inner=256):
    """Two halves of a layer: a product with a residual, a norm, a product with a function."""
    x, residual = symbol((rows, inner), "float16"), symbol((rows, width), "float16")
    h = ops.linear(x, half(width, inner)) + residual
    normed = ops.layer_norm(h, half(width), half(width))
    return trace_from([ops.relu(ops.linear(normed, half(inner, width), half(inner))), h])


def half(*shape):
    return ops.cast(weight(*shape), f16)


def test_a_norm_between_products_has_no_kernel():
    graph = block()
    names = [each.name for each in groups_of(graph)]
    assert names == ["linear_moments", "normed_linear_relu"]
    arrays = [each.astype(np.float16) for each in arrays_for(graph)]
    for found, wanted in zip(simulated(graph, arrays), evaluate(graph, *arrays), strict=True):
        assert_close(found, wanted, f16, 4)


def post_norm(rows=65, width=256, inner=256):
    """A layer that norms what it has added up, behind another such sum."""
    x, residual = symbol((rows, inner), "float16"), symbol((rows, width), "float16")
    h = ops.linear(x, half(width, inner)) + residual
    normed = ops.layer_norm(h, half(width), half(width))
    y = ops.relu(ops.linear(normed, half(inner, width), half(inner)))
    return trace_from([ops.linear(y, half(width, inner), half(width)) + normed])


def test_a_norm_whose_rows_are_a_residual_has_no_kernel():
    graph = post_norm()
    names = [each.name for each in groups_of(graph)]
    assert names == ["linear_moments", "normed_linear_relu", "linear_moments"]
    arrays = [each.astype(np.float16) for each in arrays_for(graph)]
    (found,), (wanted,) = simulated(graph, arrays), evaluate(graph, *arrays)
    assert_close(found, wanted, f16, 4)


@pytest.mark.parametrize("target", ["sm_80", "cpu+avx512"])
def test_norms_stay_kernels_elsewhere(target):
    for graph in (block(), post_norm()):
        names = [each.name for each in groups_of(graph, Target.parse(target))]
        assert any("layer_norm" in each for each in names)
        assert not any("moments" in each for each in names)


def test_norms_stay_kernels_where_other_tiles_are_faster():
    """Few rows are multiplied by ordinary warps, many by wide tiles: no thread has registers for
    more than the sums there."""
    for rows, make in ((1, block), (4096, block), (1, post_norm), (4096, post_norm)):
        names = [each.name for each in groups_of(make(rows, 768, 3072))]
        assert any("layer_norm" in each for each in names)


def test_a_cluster_shares_few_tiles_whose_rows_are_read_again():
    """A block that has all sums of a tile finishes all of them alone; a plain product has less to
    do with them. That they are shared is no reason for a norm to stay a kernel."""
    op, rows = producer((128,), 768, 768, gain=False), symbol((128, 768), "float16")
    (plain,) = trace_from([ops.linear(rows, half(768, 768))], [rows]).nodes
    shared, whole = (choices(each, TARGET)[0].point for each in (op, plain.op))
    assert (shared.block, shared.slices > 1) == (whole.block, whole.slices == 1)
    names = [each.name for each in groups_of(block(128, 768, 768))]
    assert names == ["linear_moments", "normed_linear_relu"]


ON_THE_GPU = [*PRODUCERS, *NORMED_RESIDUALS, *CONSUMERS, *LARGE]


@pytest.mark.gpu
@pytest.mark.parametrize(("op", "point"), ON_THE_GPU, ids=str)
def test_on_the_gpu(op, point):
    """As in the simulator, and to the same bits each time."""
    check = produces if isinstance(op, LinearMoments) else consumes
    check(op, built(op, point), op.examples(seed=0), on_the_gpu)


def on_the_gpu(op, module, arrays):
    """What an operator's module gives there, three times the same."""
    function = build_ir_module(module, TARGET)
    given = [to_device(np.asarray(each), "cuda:0") for each in arrays]
    times = []
    for _ in range(3):
        empty = [np.full(each.shape, np.nan, each.dtype.numpy) for each in op.results()]
        made = [to_device(each, "cuda:0") for each in empty]
        function(*given, *made)
        times.append([array_of(each) for each in made])
    assert len({b"".join(each.tobytes() for each in found) for found in times}) == 1
    return times[0]
