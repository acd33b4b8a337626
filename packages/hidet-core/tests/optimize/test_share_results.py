"""What is computed twice is computed once."""

from hidet import ops
from hidet.graph import Node, symbol, trace_from
from hidet.graph.foreign import Foreign, ResultTypes
from hidet.optimize.merge.share_results import share_results
from hidet.testing.graph_passes import kinds, lines, same_value


def test_the_text_before_and_after():
    x = symbol((2, 3))
    before = trace_from([ops.tanh(ops.relu(x)) + ops.tanh(ops.relu(x))], [x])
    after = share_results(before)
    assert len(kinds(before)) == 5
    assert lines(after) == [
        "x_1 = Relu(x)",
        "x_2 = Tanh(x_1)",
        "x_3 = Add(x_2, x_2)",
        "return x_3",
    ]
    same_value(before, after)


def test_other_attributes_and_operands_are_other_results():
    x, y = symbol((2, 3)), symbol((2, 3))
    outputs = [ops.sum(x, 0), ops.sum(x, 1), ops.relu(x), ops.relu(y), x / 0.0, x / -0.0]
    graph = trace_from(outputs, [x, y])
    assert share_results(graph) is graph


def test_several_results():
    x = symbol((4, 6))
    first, second = ops.moments(x, (1,)), ops.moments(x, (1,))
    graph = trace_from([first[0] + second[1]], [x])
    found = share_results(graph)
    assert kinds(found).count("moments") == 1
    same_value(graph, found)


def test_what_runs_in_the_framework_may_have_effects_and_stays():
    x = symbol((2, 3))
    foreign = Foreign((x.type,), "aten.example", ResultTypes((x.type,)))
    (first,), (second,) = (Node(foreign, (x,)).outputs for _ in range(2))
    graph = trace_from([first + second], [x])
    assert share_results(graph) is graph


def test_an_update_in_place_stays():
    """What one of two writes, the other one writes over."""
    x, row = symbol((4, 3)), symbol((1, 3))
    first, second = (ops.in_place(ops.slice_scatter(x, row, 0, 1, 2)) for _ in range(2))
    graph = trace_from([first + second], [x, row])
    assert share_results(graph) is graph
