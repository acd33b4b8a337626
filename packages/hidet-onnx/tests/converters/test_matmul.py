"""Gemm: dense layers as such, other products as they are written."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import hidet_onnx

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("shape", "named", "operator"),
    [
        ((3,), {"transB": 1}, "linear"),
        (None, {"transB": 1}, "linear"),
        ((3,), {"transB": 1, "alpha": 0.5}, "add"),
        ((3,), {"transB": 1, "beta": 2.0}, "add"),
        ((1, 3), {"transB": 1}, "add"),
        ((3,), {}, "add"),
    ],
)
def test_gemm(shape: tuple[int, ...] | None, named: dict[str, float], operator: str) -> None:
    weight = RNG.standard_normal((3, 5)).astype(np.float32)
    held = {"w": weight if named.get("transB") else weight.T.copy()}
    if shape is not None:
        held["c"] = RNG.standard_normal(shape).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", *held], ["y"], **named)],
        "gemm",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [7, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [7, 3])],
        [numpy_helper.from_array(array, name) for name, array in held.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    assert hidet_onnx.from_onnx(model).nodes[-1].op.name == operator
    x = RNG.standard_normal((7, 5)).astype(np.float32)
    expected = named.get("alpha", 1) * (x.astype(np.float64) @ weight.T)
    expected = expected + named.get("beta", 1) * held.get("c", np.zeros(1))
    np.testing.assert_allclose(hidet_onnx.compile(model)(x), expected, rtol=1e-5, atol=1e-6)
