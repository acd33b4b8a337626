"""Where the ways of a value meet again."""

from hidet import ops
from hidet.fusion.regions import Regions
from hidet.graph import symbol, trace_from


def names(nodes):
    return None if nodes is None else [node.op.name for node in nodes]


def test_a_diamond():
    x = symbol((4,))
    y = ops.relu(x)
    z = ops.add(ops.tanh(y), ops.exp(y))
    regions = Regions(trace_from([z], [x]))
    inside = regions.behind(y.trace[0], 8)
    assert names(inside) == ["tanh", "exp", "add"]
    assert regions.behind(y.trace[0], 2) is None
    assert regions.behind(z.trace[0], 8) is None


def test_outputs_have_ways_out_of_the_graph():
    x = symbol((4,))
    y = ops.relu(x)
    middle = ops.tanh(y)
    z = ops.add(middle, ops.exp(y))
    assert Regions(trace_from([z, middle], [x])).behind(y.trace[0], 8) is None
    nested = ops.add(ops.add(ops.exp(middle), ops.sin(middle)), y)
    regions = Regions(trace_from([nested], [x]))
    assert names(regions.behind(middle.trace[0], 8)) == ["exp", "sin", "add"]
    assert names(regions.behind(y.trace[0], 8)) == ["tanh", "exp", "sin", "add", "add"]
