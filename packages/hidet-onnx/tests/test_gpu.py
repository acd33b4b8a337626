"""Models on a GPU: kernels, and what onnx's reference runs between them."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import hidet_onnx

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(0)
WEIGHT = RNG.standard_normal((129, 7)).astype(np.float32)


def model_of(*nodes):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 129])
    y = helper.make_empty_tensor_value_info("y")
    held = [numpy_helper.from_array(WEIGHT, "w")]
    graph = helper.make_graph(nodes, "one", [x], [y], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_a_layer():
    nodes = helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])
    compiled = hidet_onnx.compile(model_of(*nodes), device="cuda")
    x = RNG.standard_normal((5, 129)).astype(np.float32)
    wanted = np.maximum(x.astype(np.float64) @ WEIGHT, 0)
    np.testing.assert_allclose(compiled(x), wanted, rtol=1e-4, atol=1e-4)


def test_a_session():
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    session = hidet_onnx.InferenceSession(model_of(node), providers=["CUDAExecutionProvider"])
    x = RNG.standard_normal((5, 129)).astype(np.float32)
    (found,) = session.run(None, {"x": x})
    np.testing.assert_allclose(found, x.astype(np.float64) @ WEIGHT, rtol=1e-4, atol=1e-4)
