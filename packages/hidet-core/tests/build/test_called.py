"""Names and limits of a graph in its plans."""

import pytest

from hidet import ops
from hidet.build.called import as_called, names
from hidet.build.compile import compile_graph
from hidet.errors import BadArgument
from hidet.graph import FlowGraph, symbol
from hidet.graph.dims import size_symbol


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["x", "y"], ["x", "y"]),
        (["", ""], ["input0", "input1"]),
        (["x", "x"], ["x", "input1"]),
        (["input1", ""], ["input1", "input1_"]),
    ],
)
def test_no_two_inputs_have_one_name(given, found):
    assert names(given) == found


def graph(name, limits):
    x = symbol([size_symbol("n")], name=name)
    return FlowGraph([x], [ops.relu(x)], limits=limits)


def test_graphs_that_compute_the_same_keep_what_they_are_called(tmp_path):
    for name, limits in (("x", {"n": (0, 7)}), ("y", {})):
        made = graph(name, limits)
        plan = as_called(compile_graph(made).archive, made).main
        assert plan.input_names == [name]
        assert plan.limits == limits


@pytest.mark.parametrize("limits", [{"m": (1, 2)}, {"n": (3, 2)}, {"n": (-1, None)}])
def test_limits_of_a_graph_are_of_its_sizes(limits):
    with pytest.raises(BadArgument, match=r"size '[nm]'"):
        graph("x", limits)
