"""Which candidates an operator has, under the options in force."""

import pickle

import pytest

from hidet import ops
from hidet.build.ahead import Job
from hidet.build.choosing.choices import choices, is_scheduled_as, ranked
from hidet.build.choosing.grouping import grouped
from hidet.build.planning.kernels import group_of, settings, shape_of, worked_out
from hidet.fusion.group import Group
from hidet.graph import symbol, trace_from
from hidet.graph.operator import OPERATORS
from hidet.graph.tensor import Node, Tensor
from hidet.ops.products.matmul import Linear
from hidet.ops.reductions.partial_statistics import NormedLinear
from hidet.options import options
from hidet.target import Target
from hidet.types import f16, f32

GPU = Target.parse("sm_90a")


def product():
    """A product whose sum blocks may share, as a node."""
    kind = OPERATORS["matmul"]
    tensors = Tensor(f16[128, 768]), Tensor(f16[768, 768])
    return Node(kind(*(each.type for each in tensors)), tensors)


def test_the_whole_space_is_there_when_it_is_asked_for_after_a_part_of_it():
    op = product().op
    part = choices(op, GPU)
    with options(search_space=2):
        assert len(choices(op, GPU)) > len(part)
    assert choices(op, GPU) == part


def test_a_choice_of_the_whole_space_is_worked_out_by_other_processes_too():
    node = product()
    known = {each.choice for each in choices(node.op, GPU)}
    with options(search_space=2):
        fresh = next(each.choice for each in choices(node.op, GPU) if each.choice not in known)
        group = Group([node], node, choice=fresh)
        job = pickle.loads(pickle.dumps(Job(shape_of(group), GPU, settings())))
        wanted = worked_out(group_of(job.shape), GPU)
    assert job.answer() == wanted


def shapes(rows):
    """Those of q, k, and v whose columns lie one after the other."""
    return (1, 32, rows, 64), (1, 8, rows, 64), (1, 8, 64, rows)


@pytest.mark.parametrize(("rows", "schedule"), [(512, "attention_mma"), (2048, "attention_wgmma")])
def test_a_kernel_more_is_taken_only_where_that_is_surely_faster(rows, schedule):
    q, k, v = (symbol(shape, "float16") for shape in shapes(rows))
    graph = trace_from([ops.attention(q, k, ops.transpose(v, 2, 3), causal=True)], [q, k, v])
    (group,) = grouped(graph, GPU)
    assert group.anchor is not None
    alone = choices(group.anchor.op, GPU)[0]
    assert alone.schedule.name == "attention_wgmma"  # whose copy engine takes no transposed v
    assert ranked(group, GPU)[0].schedule.name == schedule


def rotated(heads, cos, sin):
    """Heads whose elements are rotated in pairs half a row apart."""
    half = heads.shape[3] // 2
    return heads * cos + ops.concat([-heads[..., half:], heads[..., :half]], 3) * sin


@pytest.mark.parametrize("apart", [True, False])
def test_queries_are_written_beside_keys_where_computing_them_takes_longer(apart):
    """Queries that are rotated read angles, for which each block of attention would wait; those
    that are scaled read nothing else, and stay in its prologue."""
    x, cos, sin = (symbol(shape, "float16") for shape in [(1, 128, 2304), *[(1, 1, 128, 64)] * 2])
    heads = ops.permute(ops.reshape(x, (1, 128, 3, 12, 64)), (0, 2, 3, 1, 4))
    q, k, v = (heads[:, place] for place in range(3))
    q = rotated(q, cos, sin) if apart else q * 0.5
    graph = trace_from([ops.attention(q, rotated(k, cos, sin), v, causal=True)], [x, cos, sin])
    first, last = (each for each in grouped(graph, GPU) if not each.is_free)
    assert len(first.results) == (2 if apart else 1)
    assert any(node.op.name == "multiply" for node in last.nodes) is not apart


@pytest.mark.parametrize(
    ("rows", "folded"), [(128, True), (8192, False), ("n", True), (("b", "s"), False)]
)
def test_norms_are_folded_where_products_keep_their_tiles_in_every_typical_call(rows, folded):
    """Texts of open length are short or of some length; a batch of them has thousands of rows."""
    rows = symbol(rows if isinstance(rows, tuple) else (rows,)).shape
    x, weight, vector = f16[*rows, 768], f16[3072, 768], f32[3072,]
    normed = NormedLinear(x, weight, f32[*rows, 12, 2], vector, vector, True, 1e-5)
    assert is_scheduled_as(normed, Linear(x, weight, f16[3072,]), GPU) is folded
