"""Powers and bounds that the model holds: products, and one operator."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import hidet_onnx

X = np.random.default_rng(0).standard_normal((2, 7)).astype(np.float32)
X[0, 0] = np.nan


def model(kind: str, *held: np.ndarray | None) -> ModelProto:
    """An operator on x[2, n] and what the model holds."""
    given = [(f"c{number}", each) for number, each in enumerate(held)]
    node = helper.make_node(kind, ["x", *("" if e is None else n for n, e in given)], ["y"])
    graph = helper.make_graph(
        [node],
        kind,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, "n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(each, name) for name, each in given if each is not None],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize(
    ("exponent", "operator"),
    [
        (np.float32(2), "multiply"),
        (np.array(3), "multiply"),
        (np.float32(0.5), "pow"),
        (np.float32(-1), "pow"),
        (np.ones((1, 1, 1), np.float32), "pow"),
    ],
)
def test_powers(exponent: np.ndarray, operator: str) -> None:
    made = model("Pow", np.asarray(exponent))
    assert operator in [node.op.name for node in hidet_onnx.from_onnx(made).nodes]
    with np.errstate(invalid="ignore"):
        expected = np.power(X.astype(np.float64), exponent)
    np.testing.assert_allclose(hidet_onnx.compile(made)(X), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("low", "high", "operators"),
    [
        (np.float32(-0.5), np.float32(0.25), 1),
        (np.float32(0.5), None, 1),
        (None, np.float32(0.5), 1),
        (np.float32(0.5), np.float32(-0.5), 4),  # then it is the upper bound everywhere
        (None, None, 0),
    ],
)
def test_bounds(low: np.ndarray, high: np.ndarray, operators: int) -> None:
    made = model("Clip", low, high)
    assert len(hidet_onnx.from_onnx(made).nodes) == operators
    expected = X if low is None else np.maximum(X, low)
    expected = expected if high is None else np.minimum(expected, high)
    np.testing.assert_array_equal(hidet_onnx.compile(made)(X), expected)
