"""Attention by warpgroups: every way to divide it, simulated, against float64."""

import numpy as np
import pytest

from hidet import ops, sim
from hidet.build.choosing import choices as chosen
from hidet.build.compile import compile_graph
from hidet.codegen import cuda
from hidet.graph import refer
from hidet.graph.apply import tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Var
from hidet.ir.walk import variables
from hidet.ops.products.attention import CAPPED, Attention
from hidet.options import options
from hidet.passes.pipeline import lower
from hidet.runtime.binding.memory import array_of, view_of
from hidet.runtime.executor import Executor
from hidet.schedules.base import candidates
from hidet.schedules.cuda.attention.groups import Groups
from hidet.schedules.cuda.attention.warpgroups import attention_wgmma, by_warpgroups
from hidet.target import Target
from hidet.toolchain.nvrtc import compile_cuda
from hidet.types import bf16, boolean, f16, f32, i32

TARGET = Target.parse("sm_90a")
B, M, N = (Var(name, i32) for name in "bmn")
ERROR = {f16: 1e-3, bf16: 8e-3}
"""Of the whole result, as a norm: rounding of the weights and of the result."""

POINTS = [Groups(2, 64, 2, 1), Groups(1, 128, 2, 2), Groups(3, 64, 3, 1), Groups(1, 96, 2, 3)]
OPS = [
    Attention(f16[2, 4, 70, 40], f16[2, 2, 129, 40], f16[2, 2, 129, 24], None, True, 0.2),
    Attention(bf16[1, 8, 1, 64], bf16[1, 2, 300, 64], bf16[1, 2, 300, 64], None, False, 0.2),
    Attention(f16[2, 4, 7, 32], f16[2, 2, 129, 32], f16[2, 2, 129, 32], f16[4, 1, 129], False, 0.2),
    Attention(bf16[3, 197, 72], bf16[3, 2, 72], bf16[3, 2, 136], bf16[197, 1], True, -0.3),
    Attention(f16[2, 260, 64], f16[1, 1, 64], f16[1, 1, 64], boolean[260, 1], False, 0.2),
    Attention(f16[3, 131, 64], f16[3, 131, 64], f16[3, 131, 64], None, True, 0.2),
]


def run(op, point, **sizes):
    """The result of the lowered kernel, and what it should be."""
    module = attention_wgmma(op, TARGET, point).module
    fixed = op.with_sizes(lambda size: evaluate(size, {v: sizes[v.name] for v in variables(size)}))
    arrays = fixed.examples(seed=0)
    return launched(module, arrays, fixed, sizes), refer(fixed, arrays)[0]


def launched(module, arrays, op, sizes):
    """What the module's kernel writes."""
    y = sim.empty(op.infer().shape, op.infer().dtype)
    values = dict(zip(module.params, [*arrays, y], strict=True))
    (call,) = module.calls
    sim.launch(lower(module.kernel(call.kernel)), *(values[arg] for arg in call.args), **sizes)
    return np.asarray(y, np.float64)


def near(found, expected, of):
    """Whether the whole is as near as rounding of single elements leaves it."""
    assert np.linalg.norm(found - expected) <= ERROR[of] * np.linalg.norm(expected)


DIVIDED = [(op, point) for op in OPS for point in POINTS if point.fits(op, TARGET)]


@pytest.mark.parametrize("mask", [None, f16[131, 131]], ids=str)
def test_scores_held_within_bounds(mask):
    op = Attention(
        f16[2, 131, 64], f16[1, 131, 64], f16[1, 131, 64], mask, mask is None, 0.9, CAPPED
    )  # fmt: skip
    near(*run(op, POINTS[1]), f16)


@pytest.mark.parametrize(("op", "point"), DIVIDED, ids=str)
def test_every_division(op, point):
    near(*run(op, point), op.q.dtype)


@pytest.mark.parametrize(("b", "m"), [(1, 1), (3, 129), (2, 257)])
def test_symbolic_lengths(b, m):
    op = Attention(f16[B, 2, M, 64], f16[B, 1, M, 64], f16[B, 1, M, 64], None, True, 0.2)
    near(*run(op, Groups(2, 64, 2, 1), b=b, m=m), f16)


@pytest.mark.parametrize(("m", "n"), [(1, 0), (7, 2), (31, 129)])
@pytest.mark.parametrize("causal", [False, True])
def test_keys_that_are_more_than_rows(m, n, causal):
    """Those of a cache are there before the rows' own."""
    op = Attention(f16[2, M, 64], f16[1, M + N, 64], f16[1, M + N, 64], None, causal, 0.2)
    near(*run(op, Groups(1, 64, 2, 2), m=m, n=n), f16)


def test_rows_of_all_heads_are_there_once_in_several_sections(monkeypatch):
    monkeypatch.setattr("hidet.schedules.cuda.attention.warpgroups.ROUNDS", 1 / 32)
    op = Attention(f16[10, 130, 64], f16[5, 130, 64], f16[5, 130, 64], None, True, 0.2)
    near(*run(op, Groups(1, 64, 2, 2)), f16)


def test_a_row_that_keeps_nothing_is_zero():
    op = Attention(f16[1, 5, 64], f16[1, 300, 64], f16[1, 300, 64], boolean[5, 300], False, 0.2)
    module = attention_wgmma(op, TARGET, Groups(1, 64, 2, 2)).module
    q, k, v, _ = op.examples(seed=0)
    kept = np.zeros((5, 300), bool)
    kept[1, 299] = kept[3, 3] = True
    found = launched(module, [q, k, v, kept], op, {})
    none = np.zeros_like(v[0, 0])
    np.testing.assert_array_equal(found[0], [none, v[0, 299], none, v[0, 3], none])


def test_what_it_is_for():
    def takes(of, m, n, d, arch="sm_90a"):
        op = Attention(of[2, m, d], of[2, n, d], of[2, n, d], None, False, 1.0)
        return by_warpgroups(op, Target.parse(arch))

    assert takes(f16, 100, 100, 64)
    assert takes(bf16, M, M, 128)
    assert takes(f16, M, 7, 8)
    assert takes(f16, M, M + N, 64)
    assert not takes(f16, 100, N, 64)  # there may be no keys
    assert not takes(f16, 100, 100, 36)  # rows of k are no whole pieces of 16 bytes
    assert not takes(f32, 100, 100, 64)
    assert not takes(f16, 100, 100, 64, arch="sm_90")
    with options(mma="simt"):
        assert not takes(f16, 100, 100, 64)


def square(heads, rows, size, causal=False):
    """Attention of so many rows and keys."""
    return Attention(*(f16[heads, rows, size],) * 3, None, causal, 0.1)


@pytest.mark.parametrize(
    ("op", "schedule"),
    [
        (square(32, 4096, 128, causal=True), "attention_wgmma"),
        (square(128, 1024, 64), "attention_wgmma"),
        (square(8, 512, 256), "attention_wgmma"),
        (square(8, 512, 320), "attention_mma"),
        (Attention(f16[32, 1, 128], *(f16[8, 4096, 128],) * 2, None, False, 0.1), "attention_mma"),
        (Attention(f16[32, 8, 128], *(f16[8, 4096, 128],) * 2, None, False, 0.1), "attention_mma"),
    ],
    ids=str,
)
def test_many_rows_are_for_warpgroups(op, schedule):
    assert candidates(op, TARGET)[0].schedule.name == schedule


@pytest.mark.parametrize(
    "op",
    [
        square(32, 4096, 128, causal=True),
        Attention(bf16[16, M, 80], *(bf16[16, 700, 80],) * 2, bf16[M, 700], False, 0.1),
    ],
    ids=str,
)
def test_products_are_under_way_together_without_spills(op):
    best = next(c for c in candidates(op, TARGET) if c.schedule.name == "attention_wgmma")
    module = best.schedule.apply(op, TARGET, best.point).module
    built = compile_cuda(cuda.emit([lower(each) for each in module.kernels]), arch="sm_90a")
    assert [usage.spill_bytes for usage in built.usage.values()] == [0]
    assert "serialized" not in built.log  # ptxas says so where it waits after each product


def test_what_is_around_fuses_but_what_computes_keys(monkeypatch):
    def by_warpgroups(op, target, *calls):
        found = candidates(op, target)
        return [each for each in found if each.schedule.name == "attention_wgmma"][:1]

    monkeypatch.setattr(chosen, "choices", by_warpgroups)
    x, k, v = (Tensor(f16[1, 70, 2, 64]), Tensor(f16[1, 2, 70, 64]), Tensor(f16[1, 70, 2, 64]))
    with tracing():
        q, turned = ops.permute(x * 2.0, (0, 2, 1, 3)), ops.permute(v, (0, 2, 1, 3))
        y = ops.permute(ops.attention(q, k, turned), (0, 2, 1, 3)) + 1.0
    graph = FlowGraph([x, k, v], [y], "around")
    compiled = compile_graph(graph, "sim")
    assert len(compiled.archive.main.steps) == 2  # v is turned ahead
    arrays = [
        np.random.default_rng(n).standard_normal(t.shape).astype("f2")
        for n, t in enumerate((x, k, v))
    ]
    executor = Executor(compiled.archive, "cpu")
    (found,) = map(array_of, executor([view_of(each) for each in arrays]))
    one, two, three = (np.float64(a) for a in arrays)
    scores = np.einsum("bihd,bhjd->bhij", 2 * one, two) / 8
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    near(np.float64(found), np.einsum("bhij,bjhd->bihd", weights, three) + 1, f16)
