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


def test_a_binding_keeps_arrays_on_the_device(session):
    binding = session.io_binding()
    binding.bind_cpu_input("x", np.full((2, 3), -2, np.float32))
    binding.bind_output("z")
    session.run_with_iobinding(binding)
    (z,) = binding.get_outputs()
    assert (z.shape, z.device) == ((2, 3), "cpu")
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], 2)
    binding.bind_ortvalue_input("x", z)  # a result is the next call's input
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], -2)
    binding.clear_binding_outputs()
    session.run_with_iobinding(binding)
    assert len(binding.copy_outputs_to_cpu()) == 2
    with pytest.raises(BadArgument, match="there is no result 'w'"):
        binding.bind_output("w")


def test_the_first_provider_that_is_there():
    wanted = ["TensorrtExecutionProvider", ("CPUExecutionProvider", {"device_id": 0})]
    with pytest.warns(UserWarning, match="no TensorrtExecutionProvider: the model runs by CPU"):
        session = hidet_onnx.InferenceSession(two_results(), providers=wanted)
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert session.model.device == "cpu"


def test_what_is_of_onnx_runtime_alone(session):
    with pytest.raises(BadArgument, match="session options are ONNX Runtime's"):
        hidet_onnx.InferenceSession(two_results(), object())
    with pytest.raises(BadArgument, match="a mapping, not list"):
        session.run(None, [np.zeros((2, 3), np.float32)])
    with pytest.raises(BadArgument, match="run options"):
        session.run(None, {}, object())


def test_an_empty_list_of_names_means_all_results(session):
    assert len(session.run([], {"x": np.zeros((2, 3), np.float32)})) == 2
