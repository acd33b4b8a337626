"""The two products of a gated layer."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import evaluate, symbol, trace_from
from hidet.optimize.merge_gates import merge_gates
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
def test_a_bias_takes_turns_too(bias):
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
