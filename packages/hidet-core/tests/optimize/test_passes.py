"""Each graph pass before and after, as text; the value stays the same."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import from_numpy, symbol, trace_from
from hidet.graph.flow import FlowGraph
from hidet.ops.products.attention import Attention
from hidet.ops.tensors.create import scalar
from hidet.optimize import PASSES, optimize
from hidet.optimize.merge.duplicate_creators import duplicate_creators
from hidet.optimize.separate_outputs import separate_outputs
from hidet.optimize.spell_attention import spell_attention
from hidet.testing.graph_passes import lines, same_value


def test_separate_outputs():
    x = symbol((2, 3))
    y = ops.relu(x)
    before = trace_from([x, y, y], [x])
    after = separate_outputs(before)
    assert lines(before) == ["x_1 = Relu(x)", "return x, x_1, x_1"]
    assert lines(after) == [
        "x_1 = Reshape(x)",
        "x_2 = Relu(x)",
        "x_3 = Reshape(x_2)",
        "return x_1, x_2, x_3",
    ]
    same_value(before, after)


def test_separate_outputs_knows_that_reshaping_moves_nothing():
    x = symbol((2, 3))
    y = ops.relu(x)
    after = separate_outputs(trace_from([ops.reshape(y, (6,)), y], [x]))
    assert lines(after)[-1] == "return x_2, x_3"
    assert sum("Reshape" in line for line in lines(after)) == 2


def test_separate_outputs_leaves_a_graph_alone_that_has_nothing_to_separate():
    x = symbol((2, 3))
    graph = trace_from([ops.relu(x), ops.tanh(x)], [x])
    assert separate_outputs(graph) is graph


def test_duplicate_creators():
    x = symbol((2, 3))
    two = scalar(2.0, x)
    before = FlowGraph([x], [ops.add(ops.multiply(x, two), two)])
    after = duplicate_creators(before)
    assert lines(before) == [
        "x_1 = Full(shape=())",
        "x_2 = Multiply(x, x_1)",
        "x_3 = Add(x_2, x_1)",
        "return x_3",
    ]
    assert lines(after) == [
        "x_1 = Full(shape=())",
        "x_2 = Multiply(x, x_1)",
        "x_3 = Full(shape=())",
        "x_4 = Add(x_2, x_3)",
        "return x_4",
    ]
    same_value(before, after)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("heads", [2, 4])
def test_spell_attention(heads, dtype):
    q, k, v = (symbol((1, each, 5, 8), dtype) for each in (4, heads, heads))
    before = trace_from([ops.attention(q, k, v, causal=True)], [q, k, v])
    after = spell_attention(before)
    assert any(isinstance(node.op, Attention) for node in before.nodes)
    names = [node.op.name for node in after.nodes]
    assert names.count("matmul") == 2
    (scores,) = (n.inputs[0] for n in after.nodes if n.op.name == "attention_weights")
    assert scores.dtype.name == ("float64" if dtype == "float64" else "float32")
    assert "attention" not in names
    same_value(before, after)


def test_all_passes_keep_the_graph_and_show_themselves():
    x, w = symbol((2, 3)), from_numpy(np.ones((3, 4), np.float32))
    before = trace_from([ops.matmul(x, w) * 2.0 + 2.0, x], [x])
    shown, seen = before.show(), []
    after = optimize(before, [lambda made, graph: seen.append(made)])
    assert tuple(seen) == PASSES
    assert before.show() == shown
    same_value(before, after)
