import pytest

from hidet.errors import UnsupportedOp
from hidet.graph import FlowGraph, evaluate, make_node, symbol
from hidet.graph.foreign import Foreign, ResultTypes
from hidet.types import f32, i64


def test_a_region_of_the_framework_has_types_but_no_meaning():
    x = symbol((2, 3))
    results = ResultTypes((f32[3], i64[3]))
    node = make_node(Foreign, (x,), key="aten.topk", gives=results)
    assert [each.dtype for each in node.outputs] == [f32, i64]
    graph = FlowGraph((x,), node.outputs)
    with pytest.raises(UnsupportedOp, match=r"aten\.topk"):
        evaluate(graph, [[0.0] * 3] * 2)
    with pytest.raises(UnsupportedOp, match="no definition"):
        node.op.definition()
