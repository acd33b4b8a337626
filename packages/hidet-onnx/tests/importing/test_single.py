"""Numbers that a model computes become literals."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import hidet_onnx


def scaled() -> onnx.ModelProto:
    """x / sqrt(x.shape[1]) + 1, as old exporters write it."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "one"], ["size"]),
        helper.make_node("Cast", ["size"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Sqrt", ["real"], ["root"]),
        helper.make_node("Div", ["x", "root"], ["scaled"]),
        helper.make_node("Add", ["scaled", "unit"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "scaled",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 5])],
        [
            numpy_helper.from_array(np.array(1), "one"),
            numpy_helper.from_array(np.float32(1), "unit"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("rows", [1, 7])
def test_numbers_that_are_computed_are_literals(rows: int) -> None:
    graph = hidet_onnx.from_onnx(scaled())
    assert not graph.constants
    assert [node.op.name for node in graph.nodes] == ["full", "divide", "full", "add"]
    x = np.random.default_rng(0).standard_normal((rows, 5)).astype(np.float32)
    found = hidet_onnx.compile(scaled())(x)
    np.testing.assert_allclose(found, x.astype(np.float64) / np.sqrt(5) + 1, rtol=1e-6)
