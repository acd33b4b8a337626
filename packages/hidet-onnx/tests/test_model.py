"""Models from file to call."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import hidet
import hidet_onnx
from hidet.errors import HidetError

RNG = np.random.default_rng(0)
WEIGHT = RNG.standard_normal((5, 3)).astype(np.float32)


def layer(**given: object) -> onnx.ModelProto:
    """relu(x @ w + b), with rows that vary."""
    bias = np.ones(3, np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"], name="product"),
        helper.make_node("Add", ["product", "b"], ["sum"], name="sum"),
        helper.make_node("Relu", ["sum"], ["y"], name="relu"),
    ]
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 3])],
        [numpy_helper.from_array(WEIGHT, "w"), numpy_helper.from_array(bias, "b")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("rows", [1, 7])
def test_a_layer_by_position_and_by_name(rows: int) -> None:
    model = hidet_onnx.compile(layer())
    x = RNG.standard_normal((rows, 5)).astype(np.float32)
    expected = np.maximum(x.astype(np.float64) @ WEIGHT + 1, 0)
    np.testing.assert_allclose(model(x), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model(x=x), expected, rtol=1e-5, atol=1e-6)
    assert isinstance(model(x), np.ndarray)


def test_a_path_and_bytes(tmp_path: object) -> None:
    path = f"{tmp_path}/layer.onnx"
    onnx.save(layer(), path)
    x = RNG.standard_normal((2, 5)).astype(np.float32)
    expected = hidet_onnx.compile(layer())(x)
    with open(path, "rb") as file:
        data = file.read()
    for given in (path, data):
        np.testing.assert_array_equal(hidet_onnx.compile(given)(x), expected)


def test_a_file_reads_inputs_in_the_order_it_was_saved_for(tmp_path: Path) -> None:
    hidet_onnx.compile(layer()).save(tmp_path / "layer.hidet", orders={"x": (1, 0)})
    loaded = hidet.load(tmp_path / "layer.hidet")
    for rows in (3, 8):
        x = RNG.standard_normal((5, rows)).astype(np.float32).T
        expected = np.maximum(x.astype(np.float64) @ WEIGHT + 1, 0)
        np.testing.assert_allclose(loaded(x=x).numpy(), expected, rtol=1e-5, atol=1e-6)
    assert loaded.copied == 0
    with pytest.raises(HidetError, match="an order for an input 'z'"):
        hidet_onnx.compile(layer()).save(tmp_path / "layer.hidet", orders={"z": (1, 0)})


def test_a_profile_names_the_kernels() -> None:
    model = hidet_onnx.compile(layer())
    x = RNG.standard_normal((7, 5)).astype(np.float32)
    (row,) = model.profile(x=x, repeat=3).rows
    assert row.name.startswith("matmul")
    assert row.runs == 1
    assert row.microseconds > 0


def test_options_that_do_not_exist_are_said() -> None:
    with pytest.raises(HidetError, match="no option 'fallbak'") as raised:
        hidet_onnx.compile(layer(), options={"fallbak": "error"})
    assert "fallback, import_nodes" in str(raised.value.help)
    with pytest.raises(HidetError, match="import_nodes is -1"):
        hidet_onnx.compile(layer(), options={"import_nodes": -1})


def test_a_model_that_needs_values_says_so_and_is_saved_after_a_call(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])
    shape = helper.make_tensor_value_info("shape", TensorProto.INT64, [2])
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    y = helper.make_empty_tensor_value_info("y")
    made = helper.make_model(
        helper.make_graph([node], "shaped", [x, shape], [y]),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=9,
    )  # fmt: skip
    model = hidet_onnx.compile(made)
    with pytest.raises(HidetError, match="compiled at its first call") as raised:
        model.save(tmp_path / "model.hidet")
    assert raised.value.help == "call it before: what is compiled depends on shape"
    assert model(np.zeros((3, 4), np.float32), np.array([2, -1])).shape == (2, 6)
    model.save(tmp_path / "model.hidet")


def test_a_model_says_what_it_takes() -> None:
    said = repr(hidet_onnx.compile(layer()))
    assert said == "CompiledModel(x: float[rows, 5] -> y: float[rows, 3], device='cpu')"


def test_wrong_feeds_are_named() -> None:
    model = hidet_onnx.compile(layer())
    with pytest.raises(HidetError, match="no input 'z'"):
        model(z=1)
    with pytest.raises(HidetError, match="no value for x"):
        model()


def test_operators_that_nobody_has_are_listed_at_once() -> None:
    model = layer()
    model.graph.node[0].op_type = "Nonsense"
    model.graph.node[2].op_type = "Folly"
    with pytest.raises(HidetError, match=r"(?s)Nonsense.*Folly"):
        hidet_onnx.compile(model)


def test_equal_lengths_under_different_names() -> None:
    """PyTorch's exporter names each past length apart, though all of them must be equal."""
    lengths = {"past": "s2", "other": "s74"}
    graph = helper.make_graph(
        [helper.make_node("Add", ["past", "other"], ["sum"], name="layer.1/Add")],
        "caches",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size, 4])
            for name, size in lengths.items()
        ],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, [1, "s2", 4])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    model = hidet_onnx.compile(made)
    x, y = (RNG.standard_normal((1, n, 4)).astype(np.float32) for n in (7, 7))
    np.testing.assert_allclose(model(x, y), x + y, rtol=1e-6)
    with pytest.raises(HidetError, match=r"`s74` of the model has to be 7: .*layer.1/Add"):
        model(x, y[:, :1])


def test_a_step_on_the_host_has_its_operands_in_their_shape(tmp_path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6])
    y = helper.make_empty_tensor_value_info("y")
    yes = helper.make_tensor("t", TensorProto.BOOL, [], [True])
    nodes = [
        helper.make_node("Constant", [], ["shape"], value_ints=[-1, 3]),
        helper.make_node("Constant", [], ["ratio"], value_float=0.5),
        helper.make_node("Constant", [], ["training"], value=yes),
        helper.make_node("Reshape", ["x", "shape"], ["rows"]),
        helper.make_node("Dropout", ["rows", "ratio", "training"], ["y"], seed=1),
    ]
    graph = helper.make_graph(nodes, "training", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    with pytest.warns(UserWarning, match=r"Dropout \(1x\)"):
        compiled = hidet_onnx.compile(model)
    given = RNG.uniform(1, 2, (4, 6)).astype(np.float32)
    found = compiled(given)
    assert found.shape == (8, 3)
    kept = found != 0
    np.testing.assert_allclose(found[kept], 2 * given.reshape(8, 3)[kept])


def test_a_step_on_the_host_has_several_sizes_that_only_a_call_tells(tmp_path) -> None:
    """Memory lies there as [n, m, 2], and the operator takes [m, n, 2]."""
    yes = numpy_helper.from_array(np.array(True))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "m", 2])
    y = helper.make_empty_tensor_value_info("y")
    nodes = [
        helper.make_node("Shape", ["x"], ["n"], start=0, end=1),
        helper.make_node("Shape", ["x"], ["m"], start=1, end=2),
        helper.make_node("Constant", [], ["two"], value_ints=[2]),
        helper.make_node("Concat", ["m", "n", "two"], ["shape"], axis=0),
        helper.make_node("Constant", [], ["half"], value_float=0.5),
        helper.make_node("Constant", [], ["training"], value=yes),
        helper.make_node("Reshape", ["x", "shape"], ["turned"]),
        helper.make_node("Dropout", ["turned", "half", "training"], ["y"], seed=1),
    ]
    graph = helper.make_graph(nodes, "dropout", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    with pytest.warns(UserWarning, match=r"Dropout \(1x\)"):
        compiled = hidet_onnx.compile(model)
    compiled.save(tmp_path / "dropout.hidet")
    loaded = hidet.load(tmp_path / "dropout.hidet", "cpu")
    for sizes in ((3, 5), (2, 1), (7, 7)):
        given = RNG.uniform(1, 2, (*sizes, 2)).astype(np.float32)
        found, turned = compiled(given), given.reshape(sizes[1], sizes[0], 2)
        np.testing.assert_array_equal(found, np.where(found == 0, 0, turned * 2))
        np.testing.assert_array_equal(loaded.run([given])[0].numpy(), found)
