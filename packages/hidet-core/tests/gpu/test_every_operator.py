"""Every operator on the GPU, by the schedule that the compiler picks for it."""

import numpy as np
import pytest

from hidet import seams
from hidet.build.compile import compile_graph
from hidet.graph import OPERATORS, refer
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.executor import Executor
from hidet.testing.compare import assert_close

pytestmark = pytest.mark.gpu
seams.call("load_operators")
NAMES = sorted(name for name, kind in OPERATORS.items() if kind.kind == "kernels")
DEVICE = "cuda:0"


@pytest.mark.parametrize("name", NAMES)
def test_operator(name):
    """All samples of an operator as parallel branches of one graph."""
    ops = list(OPERATORS[name].samples())
    inputs = [[Tensor(each, DEVICE) for each in op.types()] for op in ops]
    nodes = [Node(op, tuple(given), device=DEVICE) for op, given in zip(ops, inputs, strict=True)]
    graph = FlowGraph(
        [each for given in inputs for each in given],
        [each for node in nodes for each in node.outputs],
        name,
    )
    arrays = [op.examples(seed=3) for op in ops]
    executor = Executor(compile_graph(graph).archive, DEVICE)
    found = iter(executor([to_device(np.asarray(a), DEVICE) for given in arrays for a in given]))
    for op, given in zip(ops, arrays, strict=True):
        for wanted, of in zip(refer(op, given), op.precisions(), strict=True):
            assert_close(array_of(next(found)), wanted, of, op.factor)
