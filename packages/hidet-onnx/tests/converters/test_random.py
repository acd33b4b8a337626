"""Random numbers are distributed as they should be, and drawn anew exactly if there is no seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import hidet_onnx

COUNT = 10_007


def model(kind: str, given: np.ndarray[Any, Any] | None, **attributes: Any) -> ModelProto:
    """A model of one operator, twice."""
    inputs = []
    if given is not None:
        code = helper.np_dtype_to_tensor_dtype(given.dtype)
        inputs = [helper.make_tensor_value_info("x", code, given.shape)]
    names = [each.name for each in inputs]
    nodes = [helper.make_node(kind, names, [result], **attributes) for result in ("y", "z")]
    outputs = [helper.make_empty_tensor_value_info(result) for result in ("y", "z")]
    graph = helper.make_graph(nodes, "random", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


LIKE = np.zeros(COUNT, np.float32)
LOGITS = np.log(np.array([[1, 2, 1]], np.float32))
CASES: dict[str, tuple[Any, dict[str, Any], float, float]] = {
    "RandomUniform": (None, {"low": -1.0, "high": 3.0, "shape": [COUNT]}, 1.0, 4 / 12**0.5),
    "RandomUniformLike": (LIKE, {}, 0.5, 1 / 12**0.5),
    "RandomNormal": (None, {"mean": 2.0, "scale": 3.0, "shape": [COUNT]}, 2.0, 3.0),
    "RandomNormalLike": (LIKE, {"dtype": TensorProto.DOUBLE}, 0.0, 1.0),
    "Bernoulli": (LIKE + 0.25, {"dtype": TensorProto.INT64}, 0.25, 0.1875**0.5),
    "Multinomial": (LOGITS, {"sample_size": COUNT}, 1.0, 0.5**0.5),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_distributions(kind: str) -> None:
    given, attributes, mean, deviation = CASES[kind]
    feeds = [] if given is None else [given]
    compiled = hidet_onnx.compile(model(kind, given, **attributes), options={"fallback": "error"})
    drawn = [compiled.run(feeds) for _ in range(2)]
    for each in (*drawn[0], *drawn[1]):
        assert abs(each.mean() - mean) < 5 * deviation / COUNT**0.5
        assert abs(each.std() - deviation) < 0.05 * deviation
    assert not np.array_equal(*drawn[0])
    assert not np.array_equal(drawn[0][0], drawn[1][0])


def test_a_seed_gives_the_same_each_time() -> None:
    proto = model("RandomNormal", None, shape=[7, 3], seed=3.5)
    first, second = hidet_onnx.compile(proto), hidet_onnx.compile(proto)
    wanted = first.run([])[0]
    for each in (*first.run([]), *second.run([])):
        np.testing.assert_array_equal(each, wanted)
    other = hidet_onnx.compile(model("RandomNormal", None, shape=[7, 3], seed=4.0)).run([])[0]
    assert not np.array_equal(other, wanted)
