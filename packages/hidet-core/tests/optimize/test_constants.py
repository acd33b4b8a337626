import pytest

from hidet import ops
from hidet.graph import asarray, symbol, trace_from
from hidet.graph.apply import tracing
from hidet.optimize import optimize
from hidet.optimize.constants import Constants

X, W = symbol((2, 2)), asarray([[1.0, 2.0], [3.0, 4.0]])


def chain(tensor, count=2000):
    with tracing():
        for _ in range(count):
            tensor = ops.tanh(tensor)
        return tensor


def test_what_is_made_of_constants_alone_is_one():
    with tracing():
        scaled = W * 2.0
        graph = trace_from(ops.matmul(X, scaled) + ops.full((2,), 1.0), X)
    constants = Constants(graph)
    product, one = graph.nodes[-1].inputs
    assert [each in constants for each in (X, W, scaled, product, one)] == [
        *(False, True, True, False, True),
    ]


@pytest.mark.parametrize("tensor", [X, W], ids=["data", "constant"])
def test_long_chains_need_no_recursion(tensor):
    last = chain(tensor)
    assert (last in Constants(trace_from(last))) is (tensor is W)
    assert len(optimize(trace_from(ops.linear(X, last), X)).nodes) == 2001
