"""Graphs made at random are computed as float64 has them; what is wrong is found and made small."""

import json
from dataclasses import replace

import numpy as np
import pytest

from hidet import ops
from hidet.graph import from_numpy, symbol, trace_from
from hidet.graph.dims import size_symbol
from hidet.testing.fuzz import Case, Verdict, judged, random_case, shrunk
from hidet.testing.fuzz.__main__ import main
from hidet.testing.fuzz.cases import features
from hidet.testing.fuzz.judge import differences
from hidet.testing.fuzz.values import Values
from hidet.types import bf16, f16, f32, f64

SEED = 20_000
"""Where the numbers of the graphs tried here begin; `python -m ci.fuzz` tries as many as asked."""


@pytest.mark.parametrize(
    ("target", "largest", "count", "regions"),
    [("", 1024, 16, False), ("sim", 128, 6, False), ("", 256, 6, True), ("sim", 64, 3, True)],
)
def test_a_slice_of_the_graphs(target, largest, count, regions):
    """Over five seconds: each graph is several kernels, compiled twice."""
    seeds = range(SEED, SEED + count)
    cases = [random_case(seed, "cpu", largest, regions=regions) for seed in seeds]
    for start in range(0, count, 8):
        wrong = [each for each in judged(cases[start : start + 8], target) if each.kind]
        assert not wrong, [(each.case.seed, each.kind, each.problem) for each in wrong]


def test_the_command_prints_json(capsys):
    assert main(["--count", "1", "--seed", "3", "--target", "sim"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "failures": [],
        "features": dict.fromkeys(features(random_case(3, largest=1024).graph), 1),
    }


def test_what_is_counted_of_a_graph():
    x, weight = symbol([size_symbol("n"), 8]), symbol([4, 8])
    assert features(trace_from(ops.linear(x, weight), inputs=[x, weight])) == {
        "sizes of calls",
        "weights from outside",
    }
    constant, y = from_numpy(np.ones((4, 8), np.float32)), symbol([3, 8])
    assert features(trace_from(ops.linear(y, constant), inputs=[y])) == set()
    mask = symbol([5], "bool")
    assert features(trace_from(ops.nonzero(mask), inputs=[mask])) == {"data-dependent sizes"}


def test_a_number_is_a_graph():
    for seed in range(5):
        first, second = random_case(seed), random_case(seed)
        assert str(first.graph) == str(second.graph)
        for a, b in zip(first.calls, second.calls, strict=True):
            assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_graphs_have_what_models_have():
    cases = [random_case(seed) for seed in range(150)]
    names = {node.op.name for case in cases for node in case.graph.nodes}
    assert names >= {
        "matmul",
        "linear",
        "conv",
        "softmax",
        "layer_norm",
        "concat",
        "take",
        "cast",
        "if",
        "loop",
    }
    types = {each.dtype for case in cases for each in case.graph.inputs}
    assert types >= {f16, bf16, f32, f64}
    assert any(len(case.calls) > 1 for case in cases)
    assert any(len(case.graph.outputs) > 2 for case in cases)
    assert any(case.graph.constants for case in cases)


def test_graphs_with_regions_have_control_flow_and_sizes_that_data_tell():
    cases = [random_case(seed, largest=256, regions=True) for seed in range(40)]
    assert all({"if", "loop"} & {node.op.name for node in case.graph.nodes} for case in cases)
    told = [case for case in cases if case.graph.data_sizes]
    assert len(told) >= 5
    assert any(len(case.calls) > 1 for case in told)
    for case in cases:
        assert differences(case, exact(case)) == ""


def test_a_failure_with_sizes_that_data_tell_is_made_small():
    """Whatever has a softmax fails: what tells its size stays."""
    x = symbol((7,))
    y = ops.softmax(ops.masked_select(x, ops.greater(x, 0.0)) * 2.0)
    graph = trace_from([ops.tanh(y), ops.exp(x)], [x])
    array = np.array([1, -1, 2, 3, -4, 5, 6], np.float32)

    def judge(case):
        names = [node.op.name for node in case.graph.nodes]
        assert differences(case, exact(case)) == ""
        return Verdict(case, "wrong" if "softmax" in names else "")

    found = shrunk(judge(Case(0, graph, ((array,),))), judge).case
    assert len(found.graph.results) == len(found.graph.data_sizes) == 1
    assert len(found.graph.nodes) < len(graph.nodes)


def exact(case):
    """The outputs of each call, in the types that a device gives."""
    found = []
    for call in case.calls:
        given = dict(zip(case.graph.inputs, call, strict=True))
        values = Values(given, size_sources=case.graph.size_sources)
        values.work_out(case.graph.outputs)
        outputs = case.graph.results
        for each in outputs:
            if each.storage is not None:
                values.give(each, each.numpy())
        found.append([values.exact[each].astype(each.dtype.numpy) for each in outputs])
    return found


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 6, 7, 8, 9])  # 0 and 5 magnify what rounding leaves
def test_what_is_right_is_found_right_and_what_is_off_is_found_off(seed):
    case = random_case(seed)
    calls = exact(case)
    assert differences(case, calls) == ""
    output = calls[-1][-1]
    if output.dtype.kind == "b":
        output[...] = ~output
    else:
        output.flat[-1] += output.dtype.type(3)
    assert "output" in differences(case, calls)


def test_noise_is_allowed_where_it_is_magnified():
    """The variance of equal values is what rounding makes of them."""
    x = symbol((4, 1))
    graph = trace_from([ops.layer_norm(ops.expand(x, (4, 8)), eps=1e-12)], [x])
    case = Case(0, graph, ((np.full((4, 1), 3.1, np.float32),),))
    assert differences(case, [[np.full((4, 8), 0.05, np.float32)]]) == ""
    assert differences(case, [[np.full((4, 8), 50.0, np.float32)]]) != ""


@pytest.mark.parametrize(
    ("op", "value", "dtype", "units"),
    [
        (ops.tanhshrink, 0.0018, "float64", 2.0**-62),
        (ops.gelu, -4.1, "float32", 4.1 * 2.0**-24),
        (ops.gelu, -4.1, "bfloat16", 4.1 * 2.0**-24),
    ],
)
def test_what_cancels_most_of_its_operand_has_that_rounding(op, value, dtype, units):
    x = symbol((), dtype)
    case = Case(0, trace_from([op(x)], [x]), ((np.array(value, x.dtype.numpy),),))
    (right,) = exact(case)[0]
    assert differences(case, [[right + units]]) == ""
    assert differences(case, [[right + 2.0**12 * units]]) != ""


def test_the_same_infinity_is_right():
    x = symbol((3,))
    graph = trace_from([ops.log(x)], [x])
    case = Case(0, graph, ((np.zeros(3, np.float32),),))
    assert differences(case, [[np.full(3, -np.inf, np.float32)]]) == ""
    assert differences(case, [[np.full(3, np.inf, np.float32)]]) != ""
    assert differences(case, [[np.full(3, 5.0, np.float32)]]) != ""


def test_a_failure_is_made_small():
    """Whatever has a softmax fails, and as a softmax alone."""
    x, w = symbol((4, 6)), symbol((6, 3))
    y = ops.softmax(ops.relu(ops.matmul(x, w)) + 1.0)
    graph = trace_from([ops.tanh(y) * 2.0, ops.exp(x)], [x, w])
    arrays = tuple(np.ones(each.shape, np.float32) for each in graph.inputs)

    def judge(case):
        (found,) = judged_by_name(case)
        return found

    def judged_by_name(case):
        names = [node.op.name for node in case.graph.nodes]
        yield replace(right, case=case, kind="wrong" if "softmax" in names else "")

    right = judged([random_case(SEED)])[0]
    found = shrunk(judge(Case(0, graph, (arrays,))), judge)
    assert [node.op.name for node in found.case.graph.nodes] == ["softmax"]
    assert len(found.case.calls[0]) == 1
