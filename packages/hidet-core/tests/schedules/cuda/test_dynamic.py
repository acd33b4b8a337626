"""One archive for all sizes: fast schedules, simulated at odd ones and compiled without spills."""

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.build.compiled import build_graph
from hidet.codegen import cuda
from hidet.graph import evaluate
from hidet.ir.evaluate import evaluate as evaluate_size
from hidet.ir.expr import Var
from hidet.ir.kernel import PdlTrigger
from hidet.ops.products.attention import Attention
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.options import options
from hidet.passes.pipeline import lower
from hidet.runtime.plans.maps import Map
from hidet.schedules.base import SCHEDULES, candidates
from hidet.schedules.cuda.tiles.pipeline import Stages, in_stages
from hidet.schedules.product import product_of
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.toolchain.nvrtc import compile_cuda
from hidet.types import f16, f32, i32

TARGET = Target.parse("sm_90a")
SIZES = (1, 2, 7, 129, 31, 3, 0)
B, S = (Var(name, i32) for name in "bs")


def normal(*shape, dtype=np.float16, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype) / 4


def convolutions():
    """Two convolutions with a residual between, channels second as networks write them."""
    x = hidet.symbol(("b", 64, 3, 5), "float16")
    first, second = (hidet.asarray(normal(*s)) for s in ((64, 64, 3, 3), (64, 64, 1, 1)))
    y = ops.relu(ops.conv(x, first, padding=1))
    return hidet.trace_from([ops.conv(y, second) + x], [x]), lambda n: [normal(n, 64, 3, 5)]


def layers():
    """A layer with a gelu behind it and one behind that."""
    x = hidet.symbol(("b", 192), "float16")
    first, second = (hidet.asarray(normal(*s)) for s in ((256, 192), (192, 256)))
    y = ops.gelu(ops.linear(x, first))
    return hidet.trace_from([ops.linear(y, second) + x], [x]), lambda n: [normal(n, 192)]


def attention():
    """Causal attention of as many keys as rows."""
    q, k, v = (hidet.symbol((2, 3, S, 64), "float16") for _ in range(3))
    graph = hidet.trace_from([ops.attention(q, k, v, causal=True)], [q, k, v])
    return graph, lambda n: [normal(2, 3, n, 64, seed=seed) for seed in range(3)]


@pytest.mark.parametrize("make", [convolutions, layers, attention])
def test_one_archive_is_right_at_all_sizes(make, monkeypatch):
    monkeypatch.setattr("hidet.schedules.typical.CALLS", (4096,))  # where small layers are large
    graph, arrays = make()
    with options(target="sim", variants=1):
        compiled = build_graph(graph)
    mapped = [step for step in compiled.plan.steps if any(isinstance(a, Map) for a in step.args)]
    assert mapped, "no kernel reads by the copy engine"
    for size in SIZES:
        given = arrays(size)
        (found,) = compiled.run([hidet.asarray(each) for each in given])
        if size == 0:
            assert found.numpy().size == 0
        else:
            (wanted,) = evaluate(graph, *given)
            assert_close(found.numpy(), wanted, graph.outputs[0].dtype, 64.0)


@pytest.mark.parametrize("number", [0, 1, 5, 17])
@pytest.mark.parametrize(
    "op",
    [
        Linear(f16[33, 8 * B], f16[40, 8 * B], f16[40]),
        Matmul(f16[7, 8 * B], f16[8 * B, 8 * B]),
        Matmul(f16[2, B, 24], f16[2, 24, 4 * B]),
    ],
    ids=str,
)
def test_copies_of_rows_whose_length_is_a_multiple(op, number, check, is_right_simulated):
    point = Stages((32, 32), 64, (2, 2), 1, 3)
    assert in_stages(product_of(op), TARGET)
    assert point.fits(op, TARGET)
    fixed = op.with_sizes(lambda size: int(evaluate_size(size, {B: number})))
    if all(0 not in of.shape for of in fixed.results()):
        (schedule,) = (each for each in SCHEDULES if each.name == "matmul_stages")
        module = schedule.apply(op, TARGET, point).module
        is_right_simulated(module, fixed, check, b=number)


DYNAMIC = [
    Conv(f16[B, 28, 28, 128], f16[128, 3, 3, 128], None, (1, 1), ((1, 1),) * 2, (1, 1), 1, True),
    Conv(f16[B, S, S, 64], f16[64, 3, 3, 64], f16[64], (2, 2), ((1, 1),) * 2, (1, 1), 1, True),
    Linear(f16[B, S, 768], f16[3072, 768], f16[3072]),
    Linear(f32[B, S, 768], f32[768, 768], None),
    Attention(*(f16[B, 12, S, 64],) * 3, None, True, 0.1),
]


@pytest.mark.parametrize("op", DYNAMIC, ids=str)
def test_what_is_chosen_compiles_without_spills(op):
    best = candidates(op, TARGET)[0]
    module = best.schedule.apply(op, TARGET, best.point).module
    built = compile_cuda(cuda.emit([lower(each) for each in module.kernels]), arch=str(TARGET))
    assert not built.doubts
    assert not any(usage.spill_bytes for usage in built.usage.values())


@pytest.mark.parametrize(
    ("rows", "when"),
    [(128, PdlTrigger.READ), (8192, PdlTrigger.END), (S, PdlTrigger.ONLY_TILE)],
    ids=str,
)
def test_blocks_of_several_tiles_let_the_next_kernel_begin_at_their_end(rows, when):
    op = Linear(f16[rows, 768], f16[2304, 768], None)
    p = product_of(op)
    points = [each.point for each in candidates(op, TARGET) if each.schedule.name == "matmul_wgmma"]
    alone = [each for each in points if each.slices == 1 and each.resident(p, TARGET) == 1]
    assert {each.pdl_trigger(p, TARGET) for each in alone} == {when}
