"""Models that select by data in their middle, beside ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import parser

import hidet
import hidet_onnx
from hidet.errors import ShapeMismatch

SEED = np.random.default_rng(23)
HEAD = '<ir_version: 10, opset_import: ["" : 20]>\n'
MODELS = {
    "rows": """
        g (float[n, 3] x) => (float[k, 3] y, float[3] z)
          <float[3, 3] w = {1,2,3,4,5,6,7,8,9}, int64[1] one = {1}, int64[1] first = {0}> {
          h = Tanh(x)  s = ReduceSum<keepdims = 0>(h, one)  zero = Constant<value_float = 0.0>()
          kept = Greater(s, zero)  rows = Compress<axis = 0>(h, kept)
          y = MatMul(rows, w)  z = ReduceMax<keepdims = 0>(h, first)
        }
    """,
    "places": """
        g (float[n, 3] x) => (int64[2, k] y, float[k] z) {
          r = Relu(x)  y = NonZero(r)  t = Transpose(y)  z = GatherND(x, t)
        }
    """,
    "unique": """
        g (float[n, 3] x) => (float[k] y, int64[k] first, int64[m] inverse, int64[k] counts) {
          r = Round(x)  y, first, inverse, counts = Unique(r)
        }
    """,
    "shape_of_what_is_selected": """
        g (float[n, 3] x) => (float[m, k] y) {
          r = Relu(x)  places = NonZero(r)  t = Transpose(places)  v = GatherND(x, t)
          count = Shape(v)  two = Constant<value_ints = [2]>()
          both = Concat<axis=0>(two, count)
          y = Expand(v, both)
        }
    """,
    "pairs": """
        g (float[n, 3] x) => (float[k, 2] y, float[2, m] z) {
          r = Relu(x)  both = Concat<axis=0>(r, r)  s = Shape(both)
          places = NonZero(both)  t = Transpose(places)  v = GatherND(both, t)
          rows = Constant<value_ints = [-1, 2]>()  y = Reshape(v, rows)
          wide = Constant<value_ints = [2, -1]>()  z = Reshape(v, wide)
        }
    """,
    "range": """
        g (float[n, 3] x) => (int64[k] y, float[k] z) {
          r = Relu(x)  s = Sign(r)  t = ReduceSum<keepdims = 0>(s)  limit = Cast<to = 7>(t)
          start = Constant<value_int = 1>()  delta = Constant<value_int = 2>()
          y = Range(start, limit, delta)  f = Cast<to = 1>(y)  z = Sqrt(f)
        }
    """,
    "computed_shape": """
        g (float[n, 3] x) => (float[k, 2] y, float[m, k] z) {
          r = Relu(x)  s = Sign(r)  t = ReduceSum<keepdims = 0>(s)  c = Cast<to = 7>(t)
          zero = Constant<value_ints = [0]>()  count = Unsqueeze(c, zero)
          two = Constant<value_ints = [2]>()  both = Concat<axis = 0>(count, two)
          y = ConstantOfShape(both)  turned = Transpose(y)  e = Exp(turned)
          other = Concat<axis = 0>(two, count)  z = Reshape(e, other)
        }
    """,
}  # fmt: skip
COUNTED = """
    g (float[n, 3] x) => (float[...] y, float[...] z) {
      r = Relu(x)  s = Sign(r)  t = ReduceSum<keepdims = 0>(s)  c = Cast<to = 7>(t)
      zero = Constant<value_ints = [0]>()  one = Constant<value_ints = [1]>()
      two = Constant<value_ints = [2]>()  back = Constant<value_ints = [-1]>()
      both = Constant<value_ints = [0, 1]>()  far = Constant<value_ints = [-9223372036854775807]>()
      k = Unsqueeze(c, zero)  minus = Neg(k)  flat = Reshape(x, back)  e = Exp(flat)
      BODY
    }
"""
"""A model that computes k: how many elements are positive."""
OPERANDS = {
    "slice_ends": "y = Slice(e, zero, k)  z = Slice(flat, minus, k, zero, two)",
    "slice_starts": "q = Mul(k, two)  y = Slice(e, k, q)  z = Slice(x, one, k, zero)",
    "slice_backwards": "y = Slice(e, k, far, zero, back)  m = Neg(two)"
                       "  z = Slice(e, k, m, zero, m)",
    "tile": "p = Concat<axis = 0>(k, two)  y = Tile(x, p)  z = Tanh(y)",
    "top_k": "y, i = TopK(e, k)  z = Gather(flat, i)",
    "pad": "p = Concat<axis = 0>(zero, k)  y = Pad(e, p)  z = Tanh(y)",
    "one_hot": "v = Constant<value_floats = [0.5, 2.0]>()  a = ArgMax<axis = 1, keepdims = 0>(x)"
               "  d = Add(k, one)  y = OneHot(a, d, v)  z = Tanh(y)",
    "resize": "u = Unsqueeze(e, both)  d = Add(k, one)  p = Concat<axis = 0>(one, one, d)"
              "  y = Resize<mode = \"linear\">(u, , , p)  z = Tanh(y)",
    "split": "w = Size(x)  v = Unsqueeze(w, zero)  rest = Sub(v, k)"
             "  p = Concat<axis = 0>(k, rest)  y, q = Split<axis = 0>(e, p)  z = Tanh(q)",
}  # fmt: skip


def floats(*shape: int) -> np.ndarray:
    return SEED.standard_normal(shape, np.float32)


def same(text: str, path, sizes=(1, 2, 7, 31)) -> None:
    """Ours, compiled whole, gives what ONNX Runtime gives, after saving too."""
    made = parser.parse_model(HEAD + text)
    theirs = onnxruntime.InferenceSession(made.SerializeToString())
    ours = hidet_onnx.compile(made, options={"fallback": "error"})
    ours.save(path / "model.hidet")
    loaded = hidet.load(path / "model.hidet")
    for n in sizes:
        x = floats(n, 3)
        found = ours.run([x])
        for one, other in zip(found, theirs.run(None, {"x": x}), strict=True):
            assert np.shape(one) == np.shape(other)
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-5, atol=1e-5)
        again = loaded.run([x])
        assert [each.shape for each in again] == [np.shape(each) for each in found]


@pytest.mark.parametrize("name", MODELS)
def test_models_that_select(name: str, tmp_path) -> None:
    same(MODELS[name], tmp_path)


@pytest.mark.parametrize("name", OPERANDS)
def test_sizes_that_models_compute(name: str, tmp_path) -> None:
    same(COUNTED.replace("BODY", OPERANDS[name]).replace("[...]", "[a]"), tmp_path, (2, 7, 31))


@pytest.mark.parametrize(
    "text", ["p = Concat<axis = 0>(zero, minus)  y = Pad(e, p)", "q = Add(k, k)  y, i = TopK(e, q)"]
)
def test_sizes_that_cannot_be_are_refused(text: str) -> None:
    whole = COUNTED.replace("BODY", text + "  z = Tanh(y)").replace("[...]", "[a]")
    ours = hidet_onnx.compile(parser.parse_model(HEAD + whole), options={"fallback": "error"})
    with pytest.raises(ShapeMismatch, match="the data give"):
        ours.run([np.ones((3, 3), np.float32)])


def test_an_axis_that_is_squeezed_has_size_one_in_each_call() -> None:
    """Only data tell how many rows are kept."""
    text = """
        g (float[n, 3] x) => (float[3] y) <int64[1] one = {1}, int64[1] first = {0}> {
          h = Tanh(x)  s = ReduceSum<keepdims = 0>(h, one)  zero = Constant<value_float = 0.0>()
          kept = Greater(s, zero)  rows = Compress<axis = 0>(h, kept)  y = Squeeze(rows, first)
        }
    """
    model = hidet_onnx.compile(parser.parse_model(HEAD + text), options={"fallback": "error"})
    x = np.array([[-1, 0, -2], [1, 2, 3], [-1, -1, -1]], np.float32)
    np.testing.assert_allclose(model(x), np.tanh(x[1]), rtol=1e-6)
    for wrong in (-np.abs(x), np.abs(x)):
        with pytest.raises(ShapeMismatch):
            model(wrong)
