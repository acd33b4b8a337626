"""The correctness report: an error shows in the row of the operator that makes it."""

from dataclasses import replace

import numpy as np
import pytest

from hidet import ops
from hidet.build.correctness import correctness_report
from hidet.build.differences import Report, Row, expected_error, harmonic_error
from hidet.errors import Place, UnsupportedOp
from hidet.errors.place import standing
from hidet.graph import OPERATORS, FlowGraph, Foreign, apply_all, from_numpy, symbol, trace_from
from hidet.graph.apply import tracing
from hidet.graph.dims import size_symbol
from hidet.graph.foreign import ResultTypes
from hidet.options import options
from hidet.types import bf16, f16, f32, i8, i64

PLACE = Place("model.py", 7)
RANDOM = np.random.default_rng(0)


def values(*shape):
    return from_numpy(RANDOM.standard_normal(shape).astype(np.float32))


def network(x):
    with tracing():
        h = ops.relu(ops.linear(x, values(16, 8), values(16)))
        h = ops.softmax(ops.linear(h, values(4, 16), None) * 0.5, -1)
        return trace_from([h, ops.exp(h)], [x])


def test_every_operator_of_a_right_graph_is_in_line():
    report = network(symbol((3, 8))).correctness_report(values(3, 8))
    kinds = [row.kind for row in report.rows]
    assert kinds == ["placeholder", *["operator"] * 6, "output", "output"]
    names = [row.operator.partition("(")[0] for row in report.rows if row.kind == "operator"]
    assert names == ["Linear", "Relu", "Linear", "Multiply", "Softmax", "Exp"]
    assert report.first is None
    assert 0 < report.worst < 1e-6
    assert all(row.dtype == "float32" for row in report.rows)


def test_the_table():
    report = Report(
        (
            Row("placeholder", "x", "float32", 0.0),
            Row("operator", "Linear(" + "x" * 90, "float32", 1.2e-7, 1e-5),
            Row("operator", "Exp(x)", "float32", 0.5, 1e-5),
            Row("framework", "foreign", "int64"),
            Row("output", "", "float32", float("nan"), 1e-4),
        )
    )
    assert report.first is report.rows[2]
    lines = str(report).splitlines()
    assert lines[0].split() == ["kind", "operator", "dtype", "error", "attention"]
    assert set(lines[1]) == {"-", " "}
    assert lines[2].split() == ["0", "placeholder", "x", "float32", "0.0e+00"]
    assert "...  float32  1.2e-07" in lines[3]
    assert lines[4].endswith("5.0e-01  <- the first one above 1e-05")
    assert lines[5].split() == ["3", "framework", "foreign", "int64"]
    assert lines[6].endswith("nan      above 1e-04")


def test_a_wrong_operator_is_found_and_those_after_it_are_not_blamed(monkeypatch):
    graph = network(symbol((3, 8)))
    # A definition that disagrees with its reference, as a wrong schedule would.
    monkeypatch.setattr(
        OPERATORS["relu"], "reference", lambda self, x: np.maximum(x, 0) + 0.01 * (x > 1)
    )
    report = graph.correctness_report(values(3, 8))
    wrong = [row for row in report.rows if row.is_out_of_line and row.kind == "operator"]
    assert [row.operator.partition("(")[0] for row in wrong] == ["Relu"]
    assert report.first is wrong[0]
    assert "<- the first one above 1e-05" in str(report)


def looped_graph():
    x, w, trips = symbol((3, 4)), symbol((4, 4)), symbol((), i64)

    def branch(h):
        return ops.if_(ops.sum(h) > -100.0, ops.tanh, ops.exp, h)

    def step(iteration, x):
        return None, [branch(ops.matmul(x, w)) + ops.cast(iteration, f32)], ()

    with standing(PLACE):
        ((y,), _, _) = ops.loop(step, [x], trips=trips, most=9)
    return trace_from([ops.relu(y)], [x, w, trips])


def named(report):
    return [row.name.partition("(")[0] for row in report.rows if row.kind == "operator"]


def test_operators_of_bodies_have_rows():
    given = [values(3, 4), values(4, 4), from_numpy(np.array(3))]
    report = looped_graph().correctness_report(*given)
    assert report.first is None
    names = named(report)
    assert names[-1] == "Relu"
    assert "Loop" in names
    assert "loop.body: Matmul" in names
    assert "loop.body.if.then: Tanh" in names
    assert not any("Exp" in each for each in names)
    assert "loop.body.if.then: Tanh" in str(report)


def test_a_wrong_operator_of_a_body_is_found_before_its_region(monkeypatch):
    graph = looped_graph()
    monkeypatch.setattr(OPERATORS["tanh"], "reference", lambda self, x: np.tanh(x) + 0.01)
    report = graph.correctness_report(
        values(3, 4), values(4, 4), from_numpy(np.array(3)), iteration=1
    )
    assert report.first.name.startswith("loop.body.if.then: Tanh")
    assert report.first.place is PLACE


def test_a_body_that_never_runs_has_no_rows():
    given = [values(3, 4), values(4, 4), from_numpy(np.array(0))]
    assert named(looped_graph().correctness_report(*given)) == ["Loop", "Loop", "Relu"]


def test_what_the_framework_computed_is_fed_and_compared_with():
    graph = network(symbol((3, 8)))
    x = values(3, 8)
    first = graph.nodes[0].outputs[0]
    meant = np.asarray(
        graph.nodes[0].op.reference(
            x.numpy(), *(each.numpy() for each in graph.nodes[0].inputs[1:])
        )
    )
    shifted = (meant + 0.25).astype(np.float32)
    report = correctness_report(graph, [x], {first: shifted}, outputs=False)
    errors = [row.error for row in report.rows if row.kind == "operator"]
    assert errors[0] == pytest.approx(np.max(0.25 / (np.abs(shifted) + 1)), rel=0.5)
    assert max(errors[1:]) < 1e-6
    exact = correctness_report(graph, [x], {first: shifted}, float64=True, outputs=False)
    assert max(row.error for row in exact.rows) < 1e-6


@pytest.mark.parametrize(("precision", "least"), [("float16", 1e-5), ("bfloat16", 1e-4)])
def test_half_precision_is_measured_by_what_it_promises(precision, least):
    graph = network(symbol((3, 8)))
    with options(precision=precision):
        report = graph.correctness_report(values(3, 8), float64=True)
    (first, *_) = [row for row in report.rows if row.kind == "operator"]
    assert least < first.error < first.limit
    assert report.first is None


def test_sizes_of_the_call_and_updates_in_place():
    rows = size_symbol("s")
    cache, new = symbol((rows, 4)), symbol((2, 4))
    at = from_numpy(np.array([1, 0], np.int64))
    with tracing():
        updated = ops.index_put(cache, [at], new)
        kept = ops.in_place(updated)
        graph = FlowGraph([cache, new], [ops.relu(kept) * ops.size_value(rows, f32), kept])
    given = values(5, 4)
    before = given.numpy().copy()
    report = graph.correctness_report(given, values(2, 4))
    assert report.first is None
    assert [row.kind for row in report.rows].count("output") == 1
    np.testing.assert_array_equal(given.numpy(), before)


def test_what_runs_in_the_framework_needs_its_values():
    x = symbol((2, 3))
    (made,) = apply_all(Foreign, (x,), key="aten.example", gives=ResultTypes((f32[2, 3],)))
    graph = trace_from([ops.relu(made)], [x])
    with pytest.raises(UnsupportedOp, match="has to say what it computes"):
        graph.correctness_report(values(2, 3))
    told = {made: np.ones((2, 3), np.float32)}
    report = correctness_report(graph, [values(2, 3)], told, outputs=False)
    assert [(row.kind, row.error) for row in report.rows] == [
        ("placeholder", 0.0), ("framework", None), ("operator", 0.0),
    ]  # fmt: skip


def test_the_harmonic_error():
    assert harmonic_error([2.0, 3.0], [1.0, 3.0]) == 0.5
    absolute, relative = 0.5, 0.5 / 3
    assert harmonic_error([3.5], [3.0]) == pytest.approx(1 / (1 / absolute + 1 / relative))
    nan, inf = float("nan"), float("inf")
    assert harmonic_error([nan, inf, -inf], [nan, inf, -inf]) == 0
    assert harmonic_error([nan], [1.0]) == inf
    assert harmonic_error([inf], [1.0]) == inf
    assert harmonic_error([1.0], [inf]) == inf
    assert harmonic_error(np.zeros((0, 3)), np.zeros((0, 3))) == 0
    assert harmonic_error([1.0], [[1.0]]) == inf


def test_what_is_to_be_expected():
    assert expected_error(f32) == 1e-5
    assert expected_error(f16) == 1e-2
    assert expected_error(i64) == 0
    with options(precision="bfloat16"):
        assert expected_error(f32) == expected_error(bf16)
    with options(tf32=True):
        assert expected_error(f32, "matmul") == expected_error(f16)
        assert expected_error(f32, "exp") == 1e-5
    row = Row("operator", "", "float32", 2e-5, 1e-5)
    assert row.is_out_of_line
    assert not replace(row, error=None).is_out_of_line


@pytest.mark.parametrize("dtype", [f16, bf16])
def test_an_output_is_as_exact_as_the_coarsest_type_on_its_way(dtype):
    x = symbol((8, 64))
    h = ops.matmul(ops.cast(x, dtype), ops.cast(values(64, 256), dtype))
    y = ops.cast(ops.matmul(ops.gelu(h), ops.cast(values(256, 8), dtype)), f32)
    report = trace_from([y, ops.exp(x)], [x]).correctness_report(values(8, 64))
    mixed, plain = (row for row in report.rows if row.kind == "output")
    assert mixed.dtype == plain.dtype == "float32"
    assert mixed.limit >= expected_error(dtype)
    assert plain.limit < 1e-4
    assert report.first is None


def test_a_tie_may_round_either_way():
    ties = (np.arange(-512, 512).reshape(32, 32) * 0.025).astype(np.float32)
    x = symbol(ties.shape)
    y = ops.quantize(x, from_numpy(np.float32(0.05)), dtype=i8)
    assert trace_from([y], [x]).correctness_report(from_numpy(ties)).first is None


def test_what_is_rounded_elsewhere_than_at_a_tie_is_found(monkeypatch):
    x = symbol((32,))
    y = ops.quantize(x, from_numpy(np.float32(0.05)), dtype=i8)
    graph, quantized = trace_from([y], [x]), y.trace[0].op
    usual = type(quantized).reference
    monkeypatch.setattr(type(quantized), "reference", lambda self, *given: usual(self, *given) + 1)
    report = graph.correctness_report(from_numpy(np.full(32, 0.26, np.float32)))
    assert report.first is not None
    assert report.first.operator.startswith("Quantize")
