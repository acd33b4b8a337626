import pytest

from hidet import ops
from hidet.errors import InternalError
from hidet.graph import asarray, replace, rewrite, symbol, trace_from
from hidet.graph.rewrite import rewrite_from


def kinds(graph):
    return [type(node.op).__name__ for node in graph.nodes]


def test_a_node_is_replaced_and_its_producers_die():
    x = symbol((3,))
    graph = trace_from(ops.relu(ops.exp(x)) + x)

    def drop_relu(node):
        if type(node.op).__name__ == "Relu":
            return (ops.sin(x),)
        return None

    assert kinds(rewrite(graph, drop_relu)) == ["Sin", "Add"]
    assert kinds(graph) == ["Exp", "Relu", "Add"]


def test_changes_are_seen_by_later_nodes():
    x = symbol((3,))
    graph = trace_from(ops.relu(ops.relu(ops.relu(x))))

    def merge(node):
        inner = node.inputs[0].trace
        if inner is not None and type(inner[0].op).__name__ == "Relu":
            return (node.inputs[0],)
        return None

    assert kinds(rewrite(graph, merge)) == ["Relu"]


def test_originals_are_known_where_they_read_other_tensors_by_now():
    x = symbol((3,))
    graph = trace_from(ops.sin(ops.relu(ops.exp(x))))
    seen = []

    def drop_relu(original, node):
        seen.append((original, original is node))
        return node.inputs if type(node.op).__name__ == "Relu" else None

    assert kinds(rewrite_from(graph, drop_relu)) == ["Exp", "Sin"]
    assert seen == list(zip(graph.nodes, [True, True, False], strict=True))  # sin reads exp


def test_nothing_changed_is_the_same_graph():
    graph = trace_from(ops.relu(symbol((3,))))
    assert rewrite(graph, lambda node: None) is graph


def test_types_may_not_change():
    x, y = symbol((3,)), symbol((4,))
    graph = trace_from(ops.relu(x), x)
    with pytest.raises(InternalError, match="other types"):
        rewrite(graph, lambda node: (y,))


def test_inputs_become_constants():
    x, w = symbol((3,)), symbol((3,))
    graph = trace_from(ops.relu(x * w), (x, w))
    fixed = replace(graph, {w: asarray([1.0, 2.0, 3.0])})
    assert fixed.inputs == (x,)
    assert len(fixed.constants) == 1
