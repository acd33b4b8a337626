"""Dense layers, written as a product and a sum."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import hidet_onnx

RNG = np.random.default_rng(0)
WEIGHT, BIAS = (RNG.standard_normal(shape).astype(np.float32) for shape in ((5, 3), (3,)))


def model(*nodes: onnx.NodeProto, outputs: tuple[str, ...] = ("y",)) -> onnx.ModelProto:
    """Nodes on x[2, rows, 5], w[5, 3], wt[3, 5] and b[3]."""
    held = {"w": WEIGHT, "wt": WEIGHT.T.copy(), "b": BIAS}
    graph = helper.make_graph(
        nodes,
        "dense",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, "rows", 5])],
        [helper.make_tensor_value_info(each, TensorProto.FLOAT, None) for each in outputs],
        [numpy_helper.from_array(array, name) for name, array in held.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def operators(made: onnx.ModelProto) -> list[str]:
    return [node.op.name for node in hidet_onnx.from_onnx(made).nodes]


PRODUCT = helper.make_node("MatMul", ["x", "w"], ["product"])
SUM = helper.make_node("Add", ["b", "product"], ["y"])
TURNED = (
    helper.make_node("Transpose", ["wt"], ["turned"], perm=[1, 0]),
    helper.make_node("MatMul", ["x", "turned"], ["product"]),
)


@pytest.mark.parametrize("nodes", [(PRODUCT, SUM), (*TURNED, SUM)])
@pytest.mark.parametrize("rows", [1, 7])
def test_a_product_and_a_sum_are_one_layer(nodes: tuple[onnx.NodeProto, ...], rows: int) -> None:
    made = model(*nodes)
    assert operators(made)[-1] == "linear"
    assert "add" not in operators(made)
    x = RNG.standard_normal((2, rows, 5)).astype(np.float32)
    expected = x.astype(np.float64) @ WEIGHT + BIAS
    np.testing.assert_allclose(hidet_onnx.compile(made)(x), expected, rtol=1e-5, atol=1e-6)


def test_a_weight_that_was_turned_is_read_as_it_lies() -> None:
    assert operators(model(*TURNED, SUM)) == ["linear"]


def test_a_sum_that_others_read_the_operand_of_stays() -> None:
    made = model(PRODUCT, SUM, outputs=("y", "product"))
    assert operators(made) == ["permute", "linear", "add"]


def test_what_is_no_layer_stays() -> None:
    scores = helper.make_node("Transpose", ["x"], ["turned"], perm=[0, 2, 1])
    both = helper.make_node("MatMul", ["x", "turned"], ["y"])
    assert operators(model(scores, both)) == ["permute", "matmul"]
