"""Updates in place write what they change and nothing else, where the tensor lies."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.compile import compile_graph
from hidet.frontend.running.execute import prepare_runner
from hidet.graph import FlowGraph, symbol
from hidet.runtime.binding.memory import array_of, view_of
from hidet.types import f32, i64

X = np.random.default_rng(0).random((4, 9, 3), np.float32)


def put(x, new, at):
    return ops.index_put(x, [None, at], new)


def added(x, new, at):
    return ops.index_put(x, [None, at], new, accumulate=True)


def cut(x, new, at):
    return ops.slice_scatter(x, new, 1, 1, 7, 3)


def scattered(x, new, at):
    where = ops.expand(ops.reshape(at, (1, 2, 1)), (4, 2, 3))
    return ops.scatter(x, 1, where, new, "add")


def graph_of(update):
    x, new, at = symbol((4, 9, 3), f32), symbol((4, 2, 3), f32), symbol((2,), i64)
    updated = ops.in_place(update(x, new, at))
    assert ops.origin(updated) is x
    return FlowGraph((x, new, at), (ops.sum(updated, 1), updated))


def expected_of(update, new):
    out = X.copy()
    where = [1, 4] if update is cut else [2, 8]
    if update in (put, cut):
        out[:, where] = new
    else:
        out[:, where] += new
    return out


@pytest.mark.parametrize("update", [put, added, cut, scattered])
def test_the_input_changes_and_only_the_rest_comes_out(update):
    graph = graph_of(update)
    run = prepare_runner(graph, view_of)
    x, new, at = X.copy(), np.full((4, 2, 3), 5, np.float32), np.array([2, 8])
    found = run([view_of(each) for each in (x, new, at)])
    expected = expected_of(update, new)
    np.testing.assert_allclose(x, expected, rtol=1e-6)
    assert len(found) == 1
    np.testing.assert_allclose(array_of(found[0]), expected.sum(1), rtol=1e-5)


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
@pytest.mark.parametrize("update", [put, added, cut, scattered])
def test_no_launch_copies_the_rest(update, target):
    graph = graph_of(update)
    plan = compile_graph(graph, target).archive.main
    (cache,) = [n for n, each in enumerate(plan.buffers) if each.name == "input0"]
    writers = [step for step in plan.steps if cache in step.writes]
    assert len(writers) == 1
    assert [plan.buffers[n].shape for n in plan.outputs] == [(4, 3)]
    assert not any(each.shape == (4, 9, 3) for each in plan.buffers if each.role != "input")


def test_what_is_no_update_is_not_made_in_place():
    assert ops.in_place(symbol((3,), f32)) is None
    assert ops.in_place(ops.relu(symbol((3,), f32))) is None
