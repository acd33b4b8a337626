"""Recurrent layers of any length, beside ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import hidet_onnx
from hidet.errors import UnsupportedOp

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def layer(
    kind: str, sizes: tuple[str | int, str | int], hidden: int = 5, features: int = 3,
    with_lengths: bool = False, **attributes: object,
) -> ModelProto:  # fmt: skip
    """A model of one layer with random weights; `sizes` are those of time and batch."""
    random, rows = np.random.default_rng(3), GATES[kind] * hidden
    ways = 2 if attributes.get("direction") == "bidirectional" else 1
    shapes = {"w": (ways, rows, features), "r": (ways, rows, hidden), "b": (ways, 2 * rows)}
    held = [
        numpy_helper.from_array(random.uniform(-0.4, 0.4, shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [*sizes, features])]
    if with_lengths:
        inputs.append(helper.make_tensor_value_info("lengths", TensorProto.INT32, [sizes[1]]))
    names = ["y", "h", "c"][: 3 if kind == "LSTM" else 2]
    given = ["x", *shapes, "lengths" if with_lengths else ""]
    node = helper.make_node(kind, given, names, hidden_size=hidden, **attributes)
    outputs = [helper.make_empty_tensor_value_info(name) for name in names]
    graph = helper.make_graph([node], "layer", inputs, outputs, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def compare(made: ModelProto, *calls: tuple) -> None:
    """One compiled model gives for all calls what ONNX Runtime gives."""
    theirs = onnxruntime.InferenceSession(made.SerializeToString())
    ours = hidet_onnx.compile(made, options={"fallback": "error"})
    names = [each.name for each in theirs.get_inputs()]
    for arrays in calls:
        expected = theirs.run(None, dict(zip(names, arrays, strict=True)))
        for one, other in zip(ours.run(list(arrays)), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def steps(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", GATES)
def test_length_and_batch_may_be_told_by_a_call(kind: str, direction: str) -> None:
    calls = [(steps(time, batch, 3),) for time, batch in ((1, 1), (7, 2), (129, 3))]
    compare(layer(kind, ("time", "batch"), direction=direction), *calls)


def test_samples_end_after_lengths_of_their_own() -> None:
    made = layer("LSTM", ("time", "batch"), with_lengths=True, direction="bidirectional")
    lengths = np.array([130, 1, 77], np.int32)
    compare(made, (steps(130, 3, 3), lengths), (steps(5, 1, 3), np.array([4], np.int32)))


def test_a_long_sequence_is_no_more_to_compile_than_a_short_one() -> None:
    kernels = []
    for time in (100, 1000):
        made = layer("GRU", (time, 2), linear_before_reset=1)
        compare(made, (steps(time, 2, 3),))
        graph = hidet_onnx.from_onnx(made)
        kernels.append(len(graph.nodes))
    assert kernels[0] == kernels[1]


@pytest.mark.parametrize("rows", [20, 2**31 - 1])
@pytest.mark.parametrize("linear", [0, 1])
def test_weights_of_another_number_of_gates_are_refused(rows: int, linear: int) -> None:
    shapes = {"x": (3, 1, 2), "w": (1, rows, 2), "r": (1, 15, 5)}
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    ]
    node = helper.make_node("GRU", [*shapes], ["y"], hidden_size=5, linear_before_reset=linear)
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    with pytest.raises(UnsupportedOp, match=f"pieces of 15 in all from axis -1 of size {rows}"):
        hidet_onnx.compile(model, options={"fallback": "error"})
