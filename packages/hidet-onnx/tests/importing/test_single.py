"""Constants that are one number."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import hidet_onnx
from hidet_onnx.importing.single import one_number


@pytest.mark.parametrize(
    ("array", "number"),
    [
        (np.float32(0.5), 0.5),
        (np.array([-7]), -7),
        (np.array([[True]]), True),
        (np.full((2, 3), 1.5, np.float16), 1.5),
        (np.full((2, 3), -np.inf), -np.inf),
        (np.full((2, 3), -0.0), -0.0),
        (np.full(3, 0.5), None),  # a weight, like any other vector
        (np.array([[0.0, -0.0], [0.0, 0.0]]), None),
        (np.array([[1, 2], [2, 1]]), None),
        (np.float32(np.nan), None),
        (np.zeros((0, 2)), None),
    ],
)
def test_arrays_that_are_one_number(array: np.ndarray, number: object) -> None:
    found = one_number(np.asarray(array))
    assert found == number
    assert found is None or np.signbit(found) == np.signbit(np.asarray(array).flat[0])


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
