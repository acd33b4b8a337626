"""Models that select by data in their middle, beside ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import parser

import hidet
import hidet_onnx

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


def floats(*shape: int) -> np.ndarray:
    return SEED.standard_normal(shape, np.float32)


@pytest.mark.parametrize("name", MODELS)
def test_models_that_select(name: str, tmp_path) -> None:
    made = parser.parse_model(HEAD + MODELS[name])
    theirs = onnxruntime.InferenceSession(made.SerializeToString())
    ours = hidet_onnx.compile(made, options={"fallback": "error"})
    ours.save(tmp_path / "model.hidet")
    loaded = hidet.load(tmp_path / "model.hidet")
    for n in (1, 2, 7, 31):
        x = floats(n, 3)
        found = ours.run([x])
        for one, other in zip(found, theirs.run(None, {"x": x}), strict=True):
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-5, atol=1e-5)
        again = loaded.run([x])
        assert [each.shape for each in again] == [np.shape(each) for each in found]
