"""Inputs whose sizes a file leaves open: operators say what they have to be, some of them within
loops, each call checks it; beside ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, parser

import hidet_onnx
from hidet.errors import ShapeMismatch
from hidet.frontend.importing.report import FallbackWarning

SUPPRESSION = """<ir_version: 10, opset_import: ["" : 20]>
g (float[1, n, 4] boxes, float[1, 1, m] scores, int64[one] most, float[1] overlap, float[1] least)
  => (int64[k, 3] y) {
    y = NonMaxSuppression(boxes, scores, most, overlap, least)
}
"""
SCAN = """<ir_version: 10, opset_import: ["" : 20]>
g (float[a, b] start, float[t, c] x, float[s, d] y) => (float[e] last, float[h, i] rows) {
    zero = Constant<value_int = 0>()
    first = Gather<axis = 0>(start, zero)
    last, rows = Scan<num_scan_inputs = 2, body = step (float[b] sum, float[c] one, float[d] two)
      => (float[b] next, float[b] row) { both = Mul(one, two) next = Add(sum, both)
                                         row = Identity(next) }>(first, x, y)
}
"""

ATTENTION = """<ir_version: 12, opset_import: ["" : 23]>
g (float[a, b, c, d] q, float[e, f, g, h] k, float[i, j, l, m] v) => (float[n, o, p, r] y) {
    y = Attention(q, k, v)
}
"""
CACHED = """<ir_version: 12, opset_import: ["" : 23]>
g (float[a, b, c] q, float[d, e, f] k, float[g, h, i] v, float[j, l, m, n] pk, float[o, p, r, s] pv)
  => (float[a1, a2, a3] y, float[b1, b2, b3, b4] nk, float[c1, c2, c3, c4] nv) {
    y, nk, nv = Attention<q_num_heads = 4, kv_num_heads = 2>(q, k, v, "", pk, pv)
}
"""
DIFFERENCES = """<ir_version: 10, opset_import: ["" : 20]>
g (float[n, t] x) => (float[n, t] y) {
    zero = Constant<value_ints = [0]>()
    one = Constant<value_ints = [1]>()
    far = Constant<value_ints = [9223372036854775807]>()
    first = Slice(x, zero, one, one)
    half = Constant<value_float = 0.5>()
    before = Sub(first, half)
    joined = Concat<axis = 1>(before, x)
    length = Shape<start = 1, end = 2>(x)
    left = Slice(joined, zero, length, one)
    right = Slice(joined, one, far, one)
    y = Sub(right, left)
}
"""


def compare(
    model: object, *arrays: np.ndarray, fallback: str = "error"
) -> hidet_onnx.CompiledModel:
    """The model gives what ONNX Runtime gives, without a step on the host unless one is allowed."""
    theirs = onnxruntime.InferenceSession(model.SerializeToString())  # type: ignore[attr-defined]
    ours = hidet_onnx.compile(model, options={"fallback": fallback})
    names = [each.name for each in theirs.get_inputs()]
    for one, other in zip(
        ours.run([*arrays]), theirs.run(None, dict(zip(names, arrays, strict=True))), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    return ours


@pytest.mark.parametrize("length", [1, 2, 7, 129])
def test_differences_of_neighbours_are_as_many_as_there_were(length: int) -> None:
    x = np.random.default_rng(length).standard_normal((3, length)).astype(np.float32)
    compare(parser.parse_model(DIFFERENCES), x)


@pytest.mark.parametrize("boxes", [1, 7])
def test_a_number_in_a_tensor_of_unknown_length(boxes: int) -> None:
    random = np.random.default_rng(boxes)
    corners = np.sort(random.random((1, boxes, 2, 2), np.float32), axis=2).reshape(1, boxes, 4)
    scores, half = random.random((1, 1, boxes), np.float32), np.float32([0.5])
    model = parser.parse_model(SUPPRESSION)
    ours = compare(model, corners, scores, np.asarray([3]), half, half / 4)
    with pytest.raises(ShapeMismatch, match="most"):
        ours.run([corners, scores, np.asarray([3, 3]), half, half])


@pytest.mark.parametrize("batch", [1, 3])
def test_a_recurrent_layer_of_unknown_features(batch: int) -> None:
    random = np.random.default_rng(batch)
    shapes = {"x": (2, batch, 4), "w": (1, 12, 4), "r": (1, 12, 3), "p": (1, 9)}
    arrays = {name: random.uniform(-1, 1, s).astype(np.float32) for name, s in shapes.items()}
    inputs = [
        helper.make_tensor_value_info(
            name, TensorProto.FLOAT, shape if name != "x" else ["t", "n", "f"]
        )
        for name, shape in shapes.items()
    ]
    node = helper.make_node("LSTM", ["x", "w", "r", "", "", "", "", "p"], ["y"], hidden_size=3)
    result = helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph([node], "g", inputs, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    compare(model, *arrays.values())


@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_scan_of_inputs_whose_lengths_have_other_names(length: int) -> None:
    random = np.random.default_rng(length)
    start, x, y = (random.random((n, 3), np.float32) for n in (2, length, length))
    ours = compare(parser.parse_model(SCAN), start, x, y)
    with pytest.raises(ShapeMismatch, match="input y is"):
        ours.run([start, x, y[:-1]])


@pytest.mark.parametrize("length", [1, 7])
def test_attention_whose_heads_a_call_tells(length: int) -> None:
    random = np.random.default_rng(length)
    q, k = random.random((2, 4, length, 8), np.float32), random.random((2, 2, 5, 8), np.float32)
    with pytest.warns(FallbackWarning, match="Reshape"):
        compare(parser.parse_model(ATTENTION), q, k, k + 1, fallback="warn")


@pytest.mark.parametrize("past", [1, 7])
def test_attention_whose_heads_and_cache_a_call_tells(past: int) -> None:
    """What the host reshapes has sizes that inputs have too: the later ones are put into the
    earlier ones' place, so that each graph between steps of the host knows its sizes."""
    random = np.random.default_rng(past)
    q, k = random.random((2, 3, 32), np.float32), random.random((2, 3, 16), np.float32)
    cache = random.random((2, 2, past, 8), np.float32)
    with pytest.warns(FallbackWarning, match="Reshape"):
        compare(parser.parse_model(CACHED), q, k, k + 1, cache, cache * 2, fallback="warn")


@pytest.mark.parametrize("rows", [1, 7])
def test_an_axis_that_is_squeezed_has_size_1(rows: int) -> None:
    model = parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 20]>
        g (float[a, b, c] x) => (float[d, e] y) <int64[1] at = {1}> { y = Squeeze(x, at) }"""
    )
    x = np.random.default_rng(rows).random((rows, 1, 3), np.float32)
    ours = compare(model, x)
    with pytest.raises(ShapeMismatch, match="`b` of the model has to be 1"):
        ours.run([np.zeros((rows, 2, 3), np.float32)])
