"""Workspaces lie where results do if these are written over them, and only then."""

from dataclasses import replace

import numpy as np
import pytest

from hidet import ops
from hidet.build.compile import compile_graph
from hidet.frontend.running.execute import prepare_runner
from hidet.graph import symbol, trace_from
from hidet.options import options
from hidet.runtime import Plan
from hidet.runtime.binding.bound import bind
from hidet.runtime.binding.in_results import in_results
from hidet.runtime.binding.memory import array_of, view_of
from hidet.runtime.plans.plan import Buffer, Launch, Pointer
from hidet.types import f32

X, OUT, W, V = range(4)


def launch(reads, writes, *pairs):
    args = tuple(Pointer(each) for each in (*reads, *writes))
    return Launch("b", "f", args, tuple(reads), tuple(writes), in_place=pairs)


def plan(*steps, target="cpu"):
    roles = ("input", "output", "workspace", "workspace")
    buffers = tuple(Buffer(role, role, "float32", (8,)) for role in roles)
    return Plan(target, buffers, steps, (X,), (OUT,))


def found(made, shapes=((8,),) * 4):
    return [(step.reads, step.writes) for step in in_results(made.steps, made, shapes)]


def test_a_workspace_lies_where_the_result_does():
    steps = launch([X], [W]), launch([W], [V]), launch([W, V], [OUT], (OUT, W))
    assert found(plan(*steps)) == [((X,), (OUT,)), ((OUT,), (V,)), ((OUT, V), (OUT,))]


def test_so_does_what_that_workspace_is_written_over():
    steps = launch([X], [W]), launch([W], [V], (V, W)), launch([V], [OUT], (OUT, V))
    assert found(plan(*steps)) == [((X,), (OUT,)), ((OUT,), (OUT,)), ((OUT,), (OUT,))]


@pytest.mark.parametrize(
    "steps",
    [
        (launch([X], [W]), launch([W], [OUT])),
        (launch([X], [W]), launch([W], [OUT], (OUT, W)), launch([W], [V])),
        (launch([X], [W]), launch([W, W], [OUT], (OUT, W))),
        (launch([X], [OUT]), launch([OUT], [W]), launch([W], [OUT], (OUT, W))),
        (launch([X], [OUT], (OUT, X)),),
    ],
    ids=["not in place", "read later", "given twice", "written before", "an input"],
)
def test_others_stay(steps):
    assert found(plan(*steps)) == [(step.reads, step.writes) for step in steps]


def test_those_of_other_sizes_and_targets_stay():
    steps = launch([X], [W]), launch([W], [OUT], (OUT, W))
    before = [(step.reads, step.writes) for step in steps]
    assert found(plan(*steps), ((8,), (8,), (9,), (8,))) == before
    assert found(plan(*steps, target="cuda+sm90a")) == before
    parts = replace(plan(*steps).buffers[V], role="part", within=OUT)
    assert found(replace(plan(*steps), buffers=(*plan(*steps).buffers[:V], parts))) == before


@pytest.mark.parametrize("target", ["cpu", "cpu+avx2", "sim"])
def test_powers_of_a_long_softmax_lie_in_its_result(target):
    size = 8209 if target == "sim" else 100003
    x = symbol((3, size), f32)
    given = np.random.default_rng(0).normal(size=(3, size)).astype(np.float32)
    with options(target=target, in_place=True):
        graph = trace_from([ops.softmax(x, axis=1)], [x])
        main = compile_graph(graph, target).archive.main
        (result,) = prepare_runner(graph, view_of)([view_of(given)])
    assert bind(main, [view_of(given)]).arena.nbytes < given.nbytes / 10
    powers = np.exp(given.astype(np.float64))
    wanted = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(array_of(result), wanted, rtol=1e-5)
