import numpy as np
import pytest
from onnx import TensorProto, helper

import hidet_onnx
from hidet.errors import BadArgument


def two_results():
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 3])
    results = [helper.make_empty_tensor_value_info(name) for name in ("y", "z")]
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["z"])]
    graph = helper.make_graph(nodes, "two", [x], results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture(scope="module")
def session():
    return hidet_onnx.InferenceSession(two_results().SerializeToString())


@pytest.mark.parametrize("rows", [1, 7])
def test_results_by_name(session, rows):
    x = np.linspace(-1, 1, rows * 3, dtype=np.float32).reshape(rows, 3)
    y, z = session.run(None, {"x": x})
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    np.testing.assert_array_equal(z, -x)
    np.testing.assert_array_equal(session.run(["z"], {"x": x})[0], -x)


def test_what_is_declared(session):
    (x,) = session.get_inputs()
    assert (x.name, x.shape, x.type) == ("x", ["rows", 3], "tensor(float)")
    assert [each.name for each in session.get_outputs()] == ["y", "z"]
    assert session.get_providers() == ["CPUExecutionProvider"]


def test_wrong_names(session):
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(BadArgument, match="there is no result 'w'"):
        session.run(["w"], {"x": x})
    with pytest.raises(BadArgument, match="there is no input 'v'"):
        session.run(None, {"v": x})
    with pytest.raises(BadArgument, match="there is no provider 'TPU'"):
        hidet_onnx.InferenceSession(two_results(), providers=["TPU"])
