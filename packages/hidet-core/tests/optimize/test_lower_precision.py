"""float32 graphs in half precision: what is rounded, what is not, and how far results are off."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.compile import compile_graph
from hidet.graph import from_numpy, symbol, trace_from
from hidet.graph.apply import tracing
from hidet.graph.evaluate import evaluate
from hidet.ops.tensors.create import full
from hidet.optimize import optimize, split
from hidet.optimize.precision.lower_precision import lower_precision
from hidet.options import options
from hidet.types import bf16, f16, f32, f64, i64

RANDOM = np.random.default_rng(0)


def weight(*shape):
    return from_numpy((RANDOM.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32))


def lowered(graph, precision="float16"):
    with options(precision=precision):
        return lower_precision(graph)


def types(graph):
    return [(node.op.name, *(each.dtype.short for each in node.outputs)) for node in graph.nodes]


X = symbol((8, 32))


def network():
    with tracing():
        h = ops.relu(ops.linear(X, weight(64, 32), weight(64)))
        h = ops.layer_norm(h, weight(64), weight(64))
        h = ops.softmax(ops.linear(h, weight(16, 64), None), -1)
        return trace_from([ops.exp(h * 2.0)], [X])


def test_without_the_option_nothing_changes():
    graph = network()
    assert lower_precision(graph) is graph


@pytest.mark.parametrize(("precision", "of"), [("float16", f16), ("bfloat16", bf16)])
def test_products_and_what_follows_are_rounded_the_rest_is_not(precision, of):
    after = lowered(network(), precision)
    named = dict((name, kinds) for name, *kinds in types(after))
    for name in ("linear", "relu", "layer_norm", "softmax", "multiply"):
        assert named[name] == [of.short], name
    assert named["exp"] == ["f32"]
    assert after.outputs[0].dtype is f32
    (norm,) = [node.op for node in after.nodes if node.op.name == "layer_norm"]
    assert (norm.x.dtype, norm.weight.dtype, norm.bias.dtype) == (of, f32, f32)


def test_the_result_is_near_and_not_the_same():
    graph = network()
    x = RANDOM.standard_normal((8, 32)).astype(np.float32)
    (exact,) = evaluate(graph, x)
    given = from_numpy(x)
    plain = graph(given).numpy()
    with options(precision="float16"):
        half = graph(given).numpy()
    assert half.dtype == np.float32
    assert np.abs(plain - exact).max() < 1e-5
    assert 1e-5 < np.abs(half - exact).max() < 1e-2


def test_weights_are_cast_before_the_first_call():
    with options(precision="float16"):
        parts = split(optimize(network()))
        compiled = compile_graph(network())
    assert [each.dtype for each in parts.derived if each.ndim == 2] == [f16, f16]
    assert not any(
        node.op.name == "cast" and node.inputs[0].storage is not None for node in parts.main.nodes
    )
    derived = [b for b in compiled.archive.main.buffers if b.role == "derived"]
    assert {"float16"} <= {each.dtype for each in derived}


def test_positions_and_their_angles_keep_their_precision():
    x, positions = symbol((4, 16)), symbol((4, 1), dtype=i64)
    with tracing():
        angle = ops.cast(positions, f32) * weight(1, 16)
        y = ops.linear(x, weight(16, 16), None) * ops.cos(angle)
        after = lowered(trace_from([y], [x, positions]))
    kinds = types(after)
    assert kinds.count(("multiply", "f32")) == 1
    assert ("cos", "f32") in kinds
    assert kinds.count(("multiply", "f16")) == 1


def test_the_most_negative_number_stays_finite():
    x = symbol((4, 16))
    keep = symbol((4, 4), dtype="bool")
    with tracing():
        scores = ops.linear(x, weight(4, 16), None)
        low = full((), float(np.finfo(np.float32).min))
        after = lowered(trace_from([ops.where(keep, scores, low)], [x, keep]))
    (number,) = [node.op for node in after.nodes if node.op.name == "full"]
    assert (number.dtype, number.value) == (f16, -65504.0)


def test_graphs_of_other_types_are_left_alone():
    for of in (f64, f16):
        x, w = symbol((4, 8), dtype=of), symbol((8, 8), dtype=of)
        graph = trace_from([ops.relu(ops.matmul(x, w))], [x, w])
        assert types(lowered(graph)) == types(graph)


def test_a_cast_serves_all_its_readers():
    x = symbol((4, 16))
    with tracing():
        graph = trace_from(
            [ops.linear(x, weight(8, 16), None), ops.linear(x, weight(4, 16), None)], [x]
        )
    casts = [node for node in lowered(graph).nodes if node.op.name == "cast"]
    assert len([each for each in casts if each.inputs[0] is x]) == 1


def test_convolutions_with_norms_by_moments():
    x = symbol((1, 3, 8, 8))
    with tracing():
        y = ops.conv2d(x, weight(4, 3, 3, 3), padding=1)
        y = ops.batch_norm(y, weight(4), from_numpy(np.full(4, 2, np.float32)))
        graph = trace_from([ops.max_pool(ops.relu(y), (2, 2))], [x])
    values = RANDOM.standard_normal((1, 3, 8, 8)).astype(np.float32)
    (exact,) = evaluate(graph, values)
    with options(precision="bfloat16"):
        found = graph(from_numpy(values)).numpy()
    np.testing.assert_allclose(found, exact, rtol=0.05, atol=0.05)
    assert ("batch_norm", "f16") in types(lowered(graph))


@pytest.mark.parametrize(
    ("number", "kept"),
    [(np.nan, np.nan), (np.inf, np.inf), (-np.inf, -np.inf), (-1e30, -65504.0), (2.5, 2.5)],
)
def test_numbers_that_are_none_stay_so(number, kept):
    with tracing():
        chosen = ops.where(X > 0.0, ops.linear(X, weight(32, 32)), full((), number))
        graph = trace_from([chosen], [X])
    after = lowered(graph)
    (value,) = [n.op.value for n in after.nodes if n.op.name == "full" and n.op.dtype is f16]
    assert np.array_equal(value, kept, equal_nan=True)


def test_attention_keeps_its_mask():
    q, k, v = (symbol((1, 2, 5, 8)) for _ in range(3))
    mask = symbol((5, 5))
    after = lowered(trace_from([ops.attention(q, k, v, mask)], [q, k, v, mask]))
    (op,) = [node.op for node in after.nodes if node.op.name == "attention"]
    assert [each.dtype for each in op.types()] == [f16, f16, f16, f32]
    assert after.outputs[0].dtype is f32
