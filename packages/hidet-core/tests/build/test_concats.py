"""Graphs whose concatenations are written part by part compute what they should."""

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.build.compile import compile_graph
from hidet.build.compiled import build_graph
from hidet.build.reports.explain import explain_fusion
from hidet.fusion import zero_copy_concat
from hidet.graph import Node, evaluate, symbol, trace_from
from hidet.ops.products.matmul import Matmul
from hidet.options import options
from hidet.runtime.binding import bound
from hidet.runtime.plans.plan_reader import read_plan
from hidet.testing.graph_passes import weight


def product(x, columns, dtype="float32"):
    w = symbol((x.shape[1], columns), dtype)
    return ops.relu(ops.matmul(x, w)), w


def of_one():
    x = symbol((5, 12))
    (a, v), (b, w) = product(x, 7), product(x, 9)
    inner = ops.concat([a, b, ops.exp(x)], -1)
    return [ops.concat([inner, ops.softmax(x, 1), inner], 1)], [x, v, w]


def twice():
    x = symbol((7, 8))
    a, v = product(x, 3)
    return [ops.concat([a, a, x], -1)], [x, v]


def also_an_output():
    x = symbol((3, 16))
    (a, v), (b, w) = product(x, 8), product(x, 24)
    return [ops.concat([a, b], 1), a, ops.sum(b, 1)], [x, v, w]


def rows():
    x = symbol((6, 4))
    (a, v), (b, w) = product(x, 13), product(x, 13)
    return [ops.relu(ops.concat([a, ops.softmax(b, 1), b], -2)), ops.concat([b, a], 0)], [x, v, w]


def with_nothing():
    x, none = symbol((2, 8)), symbol((2, 0))
    (a, v), (b, w) = product(x, 5), product(x, 0)
    return [ops.concat([none, a, b, ops.softmax(x, 1)], 1)], [x, none, v, w]


def of_slices():
    x = symbol((5, 8))
    (a, v), (b, w) = product(x, 24), product(x, 3)
    parts = [ops.slice(a, 1, 16, 24), b, ops.slice(a, 1, 1, 8)]
    return [ops.concat(parts, 1), ops.softmax(ops.slice(a, 1, 8, 16), 1)], [x, v, w]


def known_later():
    x, y = symbol(("m", 8)), symbol(("n", 8))
    w = symbol((8, 8))
    both = [ops.relu(ops.matmul(each, w)) for each in (x, y)]
    return [ops.concat([*both, x], 0), ops.softmax(both[0], 1)], [x, y, w]


def updated():
    x = symbol((4, 8))
    (a, v), (b, w) = product(x, 8), product(x, 3)
    both = ops.concat([a, b], 1)
    return [ops.slice_scatter(both, ops.exp(b), 1, 2, 5), ops.sum(both, 0)], [x, v, w]


def under_another_shape():
    x = symbol((5, 8))
    (a, v), (b, w) = product(x, 3), product(x, 4)
    both = ops.concat([a, b], 1)
    return [ops.reshape(both, (1, 5, 7)), ops.exp(both), ops.sum(both, 0)], [x, v, w]


CASES = [
    of_one, twice, also_an_output, rows, with_nothing, of_slices, known_later, updated,
    under_another_shape,
]  # fmt: skip


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("case", CASES)
def test_values(case, target, monkeypatch):
    monkeypatch.setattr(zero_copy_concat, "LAUNCH_BYTES", 0)  # wherever it can be
    outputs, inputs = case()
    graph = trace_from(outputs, inputs)
    sizes = {"m": 3, "n": 7}
    arrays = [array(each, sizes) for each in inputs]
    with options(target=target, workers=1):
        run = build_graph(graph)
        found = run(*arrays)
    assert run.plan.of_role("part")
    assert read_plan(run.plan.to_json()) == run.plan
    found = found if isinstance(found, tuple) else (found,)
    for each, wanted in zip(found, evaluate(graph, *arrays), strict=True):
        np.testing.assert_allclose(each.numpy(), wanted, rtol=1e-4, atol=1e-6)


def test_what_is_made_before_the_first_call():
    x, wide = symbol((4, 9)), weight(9, 9)
    (a,) = Node(Matmul(wide.type, wide.type), (wide, wide)).outputs  # not computed at once
    made = ops.concat([a, ops.softmax(a, 1)], 1)
    graph = trace_from(ops.matmul(x, made), [x])
    assert compile_graph(graph).archive.plans["prepare"].of_role("part")
    given, run = array(x, {}), build_graph(graph)
    np.testing.assert_allclose(run(given).numpy(), *evaluate(graph, given), rtol=1e-4, atol=1e-5)


def array(tensor, sizes, seed=0):
    shape = [size if isinstance(size, int) else sizes[str(size)] for size in tensor.shape]
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("sizes", [{"m": 1, "n": 2}, {"m": 0, "n": 5}, {"m": 13, "n": 1}])
def test_sizes_that_vary(sizes, tmp_path):
    outputs, inputs = known_later()
    graph = trace_from(outputs, inputs)
    arrays = [array(each, sizes) for each in inputs]
    build_graph(graph).save(tmp_path / "graph.hidet")
    found = hidet.load(tmp_path / "graph.hidet")(*arrays)
    for each, wanted in zip(found, evaluate(graph, *arrays), strict=True):
        np.testing.assert_allclose(each.numpy(), wanted, rtol=1e-4, atol=1e-6)


def test_writers_of_parts_do_not_wait_for_each_other(monkeypatch):
    monkeypatch.setattr(bound, "FEW", 0)  # few that are short come one after the other
    x, u = symbol((5, 8)), symbol((7, 2))
    (a, v), (b, w) = product(x, 3), product(x, 4)
    both = ops.concat([a, b], 1)
    graph = trace_from([ops.matmul(both, u), ops.softmax(both, 0)], [x, v, w, u])
    with options(target="sim"):
        run = build_graph(graph)
        run(*(array(each, {}) for each in graph.inputs))
    (program,) = run.executor.programs.values()
    assert [set(each) for each in program.bound.waits] == [set(), set(), {0, 1}, {0, 1}]
    assert len(run.plan.of_role("workspace")) == 1


def test_they_are_told():
    outputs, inputs = twice()
    text = explain_fusion(trace_from(outputs, inputs), "sm_90a")
    assert "concat: written part by part where it lies, no kernel" in text
    assert "apart: written apart from the rest of the concat: it is given" in text
    x = symbol((5, 8))
    a, v = product(x, 3)
    stays = trace_from(ops.concat([ops.exp(x), a, x], 1), [x, v])
    assert "concat is not taken apart: 2 kernels would take its place" in explain_fusion(stays)
