"""The two products of a gated layer."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import evaluate, symbol, trace_from
from hidet.optimize.merge.gates import merge_gates
from hidet.testing.compare import assert_close
from hidet.testing.fused import groups_of, simulated
from hidet.testing.graph_passes import kinds, lines, same_value, weight
from hidet.testing.graphs import arrays_for
from hidet.types import dtype


def gated(x, n, bias=True, first=ops.silu):
    depth = x.shape[-1]
    gate = ops.linear(x, like(x, weight(n, depth)), like(x, weight(n)) if bias else None)
    up = ops.linear(x, like(x, weight(n, depth, high=0.5)))
    return first(gate) * up


def like(x, constant):
    return ops.cast(constant, x.dtype)


def test_the_text_before_and_after():
    x = symbol((3, 8))
    before = trace_from([gated(x, 6, bias=False)], [x])
    after = merge_gates(before)
    assert lines(before)[2:] == [
        "x_1 = Linear(x, c)",
        "x_2 = Silu(x_1)",
        "x_3 = Linear(x, c_1)",
        "x_4 = Multiply(x_2, x_3)",
        "return x_4",
    ]
    assert kinds(after).count("linear") == 1
    assert kinds(after)[-5:] == ["linear", "slice", "silu", "slice", "multiply"]
    same_value(before, after)


@pytest.mark.parametrize("bias", [True, False])
def test_a_bias_takes_iterations_too(bias):
    x = symbol((2, 3, 8))
    before = trace_from([gated(x, 5, bias)], [x])
    after = merge_gates(before)
    assert after is not before
    same_value(before, after)


def test_what_stays_apart():
    x, y = symbol((3, 8)), symbol((3, 8))
    a, b = ops.linear(x, weight(4, 8)), ops.linear(x, weight(4, 8))
    for outputs in (
        [ops.silu(a) * ops.linear(y, weight(4, 8))],
        [ops.silu(a) * b, b],
        [ops.silu(a) * a],
        [ops.linear(x, symbol((4, 8), name="w")) * b],
        [ops.softmax(a) * b],
    ):
        graph = trace_from(outputs)
        assert merge_gates(graph) is graph


def own_sigmoid(gate, up):
    return gate * ops.sigmoid(gate) * up


def squared(gate, up):
    positive = ops.relu(gate)
    return up * (positive * positive)


def limited(gate, up):
    least = ops.minimum(gate, 2.0)
    return (ops.clamp(up, -2.0, 2.0) + 1.0) * (least * ops.sigmoid(1.7 * least))


GATES = [own_sigmoid, squared, limited]


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("bias", [True, False])
def test_halves_of_one_layer(gate, bias):
    x = symbol((2, 3, 8))
    whole = ops.linear(x, weight(10, 8), weight(10) if bias else None)
    for halves in (ops.chunk(whole, 2, -1), ops.chunk(whole, 2, -1)[::-1]):
        before = trace_from([gate(*halves)], [x])
        after = merge_gates(before)
        assert [step(node) for node in after.nodes if node.op.name == "slice"] == [2, 2]
        same_value(before, after)


def step(node):
    return node.op.steps[-1]


def test_parts_that_are_no_halves_stay():
    x = symbol((3, 8))
    whole = ops.linear(x, weight(12, 8))
    first, second, third = ops.split(whole, 4, -1)
    for outputs in (
        [first * second * third],
        [first * second],
        [first * ops.slice(whole, -1, 2, 6)],
        [ops.chunk(whole, 2, -1)[0] * ops.slice(whole, -1, 6), whole],
        [ops.slice(whole, -1, 0, 11, 2) * ops.slice(whole, -1, 1, 12, 2)],
    ):
        graph = trace_from(outputs, [x])
        assert merge_gates(graph) is graph


@pytest.mark.parametrize("kind", ["float16", "float32"])
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("parted", [True, False])
def test_gates_that_read_a_product_twice_are_one_kernel(gate, kind, parted):
    x = symbol((9, 40), kind)
    if parted:
        halves = ops.chunk(ops.linear(x, like(x, weight(54, 40)), like(x, weight(54))), 2, -1)
    else:
        halves = (ops.linear(x, like(x, weight(27, 40, high=1 + up))) for up in range(2))
    graph = trace_from([gate(*halves)], [x])
    (group,) = (group for group in groups_of(graph) if group.anchor is not None)
    assert group.last.op.name == "multiply"
    arrays = [each.astype(dtype(kind).numpy) for each in arrays_for(graph)]
    (found,) = simulated(graph, arrays)
    assert_close(found, evaluate(graph, *arrays)[0], graph.outputs[0].dtype, 64.0)


@pytest.mark.parametrize("kind", ["float16", "float32"])
@pytest.mark.parametrize("rows", [1, 9])
def test_one_kernel_computes_the_gate(kind, rows):
    """Odd sizes, through the kernel in the simulator."""
    x = symbol((rows, 40), kind)
    graph = trace_from([gated(x, 27) + 1.0], [x])
    (group,) = (group for group in groups_of(graph) if group.anchor is not None)
    assert group.name.startswith("linear_slice")
    arrays = [each.astype(dtype(kind).numpy) for each in arrays_for(graph)]
    (found,) = simulated(graph, arrays)
    assert found.dtype == np.dtype(kind)
    assert_close(found, evaluate(graph, *arrays)[0], graph.outputs[0].dtype, 64.0)
