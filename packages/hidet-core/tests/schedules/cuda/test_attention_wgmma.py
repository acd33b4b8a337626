"""Attention by warpgroups: every way to divide it, simulated, against float64."""

import numpy as np
import pytest

from hidet import cost, ops, sim
from hidet.build.choosing import choices as chosen
from hidet.build.choosing.grouping import grouped
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
    monkeypatch.setattr("hidet.schedules.cuda.attention.warpgroups.SORTED_WAVES", 1 / 32)
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


def test_copies_of_parts_of_panels_are_counted():
    """An H200 takes 146 us where two blocks of a warpgroup have keys of 40 brought each for itself,
    and 93 by blocks of two."""
    points = Groups(1, 128, 2, 2), Groups(2, 128, 2, 1)
    op = square(8, 4096, 40)
    apart, shared = (cost.seconds(point.work(op, TARGET), TARGET) for point in points)
    assert apart == pytest.approx(146e-6, rel=0.1)
    assert shared == pytest.approx(93e-6, rel=0.2)
    assert candidates(op, TARGET)[0].point.groups > 1
    whole = [cost.seconds(point.work(square(8, 4096, 64), TARGET), TARGET) for point in points]
    assert whole[0] == pytest.approx(whole[1])


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


@pytest.fixture
def on_warpgroups(monkeypatch):
    """The schedule has no other beside it."""

    def by_warpgroups(op, target, *calls):
        found = candidates(op, target)
        return [each for each in found if each.schedule.name == "attention_wgmma"][:1]

    monkeypatch.setattr(chosen, "choices", by_warpgroups)


def computed(inputs, y, **sizes):
    """The number of kernels of a graph, and what the simulator gives, as float64, where symbols
    have these sizes."""
    compiled = compile_graph(FlowGraph(inputs, [y], "around"), "sim")
    arrays = [
        np.random.default_rng(n).standard_normal(sized(t.shape, sizes)).astype("f2")
        for n, t in enumerate(inputs)
    ]
    executor = Executor(compiled.archive, "cpu")
    (found,) = map(array_of, executor([view_of(each) for each in arrays]))
    return len(compiled.archive.main.steps), np.float64(found), [np.float64(a) for a in arrays]


def sized(shape, sizes):
    """A shape of numbers."""
    return tuple(sizes[each.name] if isinstance(each, Var) else each for each in shape)


def attended(q, k, v, mask=None, causal=False):
    """Attention in float64; heads of k and v serve as many of q."""
    k, v = (np.repeat(each, q.shape[-3] // k.shape[-3], -3) for each in (k, v))
    scores = np.einsum("...id,...jd->...ij", q, k) / np.sqrt(q.shape[-1])
    scores = scores if mask is None else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("...ij,...jd->...id", weights / weights.sum(-1, keepdims=True), v)


def test_what_is_around_fuses_but_what_computes_keys(on_warpgroups):
    x, k, v = (Tensor(f16[1, 70, 2, 64]), Tensor(f16[1, 2, 70, 64]), Tensor(f16[1, 70, 2, 64]))
    with tracing():
        q, turned = ops.permute(x * 2.0, (0, 2, 1, 3)), ops.permute(v * 2.0, (0, 2, 1, 3))
        y = ops.permute(ops.attention(q, k, turned), (0, 2, 1, 3)) + 1.0
    kernels, found, (one, two, three) = computed([x, k, v], y)
    assert kernels == 2  # v is doubled ahead
    expected = attended(2 * one.swapaxes(1, 2), two, 2 * three.swapaxes(1, 2))
    near(found, expected.swapaxes(1, 2) + 1, f16)


def heads_of(x, number, each):
    """Columns of rows as heads: [b, rows, heads * each] to [b, heads, rows, each]."""
    return ops.permute(ops.reshape(x, (*x.shape[:2], number, each)), (0, 2, 1, 3))


def split(x, number, each):
    """The same of arrays."""
    return x.reshape(*x.shape[:2], number, each).swapaxes(1, 2)


@pytest.mark.parametrize(
    ("heads", "groups", "causal"), [(1, 1, False), (3, 3, True), (6, 2, False)]
)
@pytest.mark.parametrize(("keys", "size"), [(1, 64), (2, 72), (7, 64), (129, 40)])
def test_parts_of_one_result_are_read_where_they_are(
    on_warpgroups, heads, groups, keys, size, causal
):
    """q, k and v are columns of one matmul's result, by head: rows are longer than a head's own."""
    wide, narrow = heads * size, groups * size
    x = Tensor(f16[2, keys, wide + 2 * narrow])
    with tracing():
        parts = ops.split(x, [wide, narrow, narrow], 2)
        q, k, v = (heads_of(each, each.shape[2] // size, size) for each in parts)
        y = ops.attention(q, k, v, causal=causal)
    kernels, found, (whole,) = computed([x], y)
    q, k, v = np.split(whole, [wide, wide + narrow], axis=2)
    expected = attended(
        split(q, heads, size), split(k, groups, size), split(v, groups, size), None, causal
    )
    assert kernels == 1
    near(found, expected, f16)


@pytest.mark.parametrize(("b", "m"), [(1, 1), (3, 70)])
def test_parts_of_a_result_of_any_length(on_warpgroups, b, m):
    x = Tensor(f16[B, M, 3 * 128])
    with tracing():
        q, k, v = (heads_of(each, 2, 64) for each in ops.split(x, [128] * 3, 2))
        y = ops.attention(q, k, v, causal=True)
    kernels, found, (whole,) = computed([x], y, b=b, m=m)
    expected = attended(*(split(each, 2, 64) for each in np.split(whole, 3, 2)), causal=True)
    assert kernels == 1
    near(found, expected, f16)


def test_rows_behind_others_of_a_cache_with_a_mask(on_warpgroups):
    """k and v end before their source does, and begin within it along every axis."""
    q, cache = Tensor(f16[2, 3, 70, 64]), Tensor(f16[2, 2, 4, 140, 64])
    mask = Tensor(f16[70, 131])
    with tracing():
        part = ops.slice(ops.slice(cache, 2, 1), 3, 5, 136)
        y = ops.attention(q, ops.select(part, 0, 0), ops.select(part, 0, 1), mask)
    kernels, found, (one, two, three) = computed([q, cache, mask], y)
    expected = attended(one, two[0, :, 1:, 5:136], two[1, :, 1:, 5:136], three)
    assert kernels == 1
    near(found, expected, f16)


@pytest.mark.parametrize(
    ("of", "part", "why"),
    [
        (f16[1, 2, 64, 70], ops.transpose, "its rows are not neighbours in memory"),
        (
            f16[1, 2, 70, 68],
            lambda v: v[..., 4:],
            "its rows do not lie multiples of 16 bytes apart",
        ),
        (f16[1, 2, 70, 80], lambda v: v[..., 4:68], "it does not begin at a multiple of 16 bytes"),
        (f16[1, 1, 70, 64], lambda v: ops.expand(v, (1, 2, 70, 64)), "its elements are repeated"),
        (f16[1, 2, 70, 64], lambda v: ops.roll(v, 3, 2), "no strides say where its elements lie"),
    ],
)
def test_what_no_tensor_map_describes_is_written_first(on_warpgroups, of, part, why):
    q, v = Tensor(f16[1, 2, 70, 64]), Tensor(of)
    with tracing():
        y = ops.attention(q, q, part(v))
    (group,) = grouped(FlowGraph([q, v], [y], "around"), TARGET)
    schedule = chosen.choices(group.anchor.op, TARGET)[0].schedule
    (told,) = chosen.unread(schedule, group).values()
    assert told.startswith(why)
