import numpy as np
import pytest

from hidet import ops, seams
from hidet.errors import BadArgument, Place, ShapeMismatch
from hidet.graph import FlowGraph, apply, asarray, placed, symbol, tracing
from hidet.graph.creation import from_numpy
from hidet.graph.evaluate import evaluate
from hidet.ops.reductions.norm import LayerNorm
from hidet.types import f16, f32, i64


@pytest.fixture
def by_reference(monkeypatch):
    """Eager operators run by their references, in the type of the result."""
    graphs = []

    def run(graph, tensors):
        graphs.append(graph)
        found = evaluate(graph, *(each.numpy() for each in tensors))
        pairs = zip(found, graph.outputs, strict=True)
        return tuple(from_numpy(array.astype(out.dtype.numpy)) for array, out in pairs)

    monkeypatch.setitem(seams._resolved, "run_graph", run)
    return graphs


def test_values_that_are_there_are_computed_at_once(by_reference):
    x = asarray([1.0, -2.0])
    assert ops.relu(x).numpy().tolist() == [1, 0]
    assert (x * 2 + x).numpy().tolist() == [3, -6]
    assert [len(graph.nodes) for graph in by_reference] == [1, 2, 1]
    assert ops.arange(3).numpy().tolist() == [0, 1, 2]


def test_one_tensor_twice_is_one_input(by_reference):
    x = asarray([3.0])
    assert (x * x).numpy().tolist() == [9]
    assert len(by_reference[0].inputs) == 1


def test_nothing_is_computed_while_tracing(by_reference):
    with tracing():
        assert ops.relu(asarray([1.0])).is_symbolic
    assert ops.relu(symbol((2,))).is_symbolic
    assert not by_reference


def test_a_number_takes_the_type_that_pytorch_gives_it():
    half, whole, truth = (symbol((2,), of) for of in ("f16", "i64", "bool"))
    assert (half * 0.1).dtype is f16
    assert (whole * 2).dtype is i64
    assert (whole * 0.5).dtype is f32
    assert (truth + 1).dtype is i64
    scalar = (half * 0.1).trace[0].inputs[1]
    assert scalar.dtype is f32


def test_nodes_and_errors_have_the_place_of_the_model():
    place = Place("model.py", 7)
    x, w = symbol((2, 3)), symbol((4,))
    with placed(place):
        assert ops.relu(x).trace[0].place is place
    with pytest.raises(ShapeMismatch, match="weight is") as caught, placed(place):
        apply(LayerNorm, x, w, None, axes=(1,), eps=1e-5)
    assert caught.value.place is place


def test_wrong_operands_are_refused():
    with pytest.raises(BadArgument, match="relu takes a tensor as `x`, not list"):
        ops.relu([1.0])
    with pytest.raises(BadArgument, match="on cpu and cuda:0"):
        ops.add(symbol((2,)), symbol((2,), device="cuda"))
    with pytest.raises(BadArgument, match="must be a tensor"):
        ops.add(1, 2)


def test_what_only_a_call_can_size_stays_a_node():
    x = symbol(("n", 3), "float32")
    n = x.shape[0]
    row = asarray([1.0, 2.0, 3.0])
    made = [
        ops.iota(n, dtype=f32),
        ops.full((n,), 2.0),
        ops.expand(asarray([1.0]), (n,)),
        ops.add(asarray([1.0]), ops.size_value(n, f32)),
    ]
    assert all(each.storage is None for each in (*made, ops.slice(row, 0, 0, n)))
    graph = FlowGraph([x], made)
    counted, twos, ones, sized = evaluate(graph, np.zeros((2, 3), np.float32))
    np.testing.assert_array_equal(counted, [0, 1])
    np.testing.assert_array_equal(twos, [2, 2])
    np.testing.assert_array_equal(ones, [1, 1])
    np.testing.assert_array_equal(sized, [3])
