"""Control flow whose course data tell, beside ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, parser

import hidet
import hidet_onnx
from hidet.errors import HidetError, UnsupportedOp

SEED = np.random.default_rng(17)
HEAD = '<ir_version: 10, opset_import: ["" : 20]>\n'


def model(text: str) -> ModelProto:
    return parser.parse_model(HEAD + text)


def same(made: ModelProto, *calls: tuple) -> hidet_onnx.CompiledModel:
    """One compiled model gives for all calls what ONNX Runtime gives, with no host step."""
    theirs = onnxruntime.InferenceSession(made.SerializeToString())
    ours = hidet_onnx.compile(made, options={"fallback": "error"})
    names = [each.name for each in theirs.get_inputs()]
    for arrays in calls:
        expected = theirs.run(None, dict(zip(names, arrays, strict=True)))
        for one, other in zip(ours.run(list(arrays)), expected, strict=True):
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-5, atol=1e-6)
    return ours


def floats(*shape: int) -> np.ndarray:
    return SEED.standard_normal(shape, np.float32)


IF = """
g (float[n, 3] x, bool flag) => (float[n, 3] y) <float[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
  y = If (flag) <
    then_branch = a () => (float[n, 3] p) { q = MatMul(x, w)  p = Tanh(q) },
    else_branch = b () => (float[n, 3] p) { p = Add(x, x) }
  >
}
"""


def test_a_branch_is_chosen_by_data_and_reads_what_is_around_it(tmp_path) -> None:
    calls = [(floats(n, 3), np.array(flag)) for n in (1, 7) for flag in (True, False)]
    ours = same(model(IF), *calls)
    ours.save(tmp_path / "if.hidet")
    loaded = hidet.load(tmp_path / "if.hidet")
    for arrays in calls:
        np.testing.assert_array_equal(np.asarray(loaded(*arrays)), ours.run(list(arrays))[0])


def test_branches_of_other_shapes_specialise_on_the_condition() -> None:
    text = """
    g (float[2, 3] x, bool flag) => (float[k, 3] y) {
      y = If (flag) <
        then_branch = a () => (float[2, 3] p) { p = Identity(x) },
        else_branch = b () => (float[4, 3] p) { p = Concat <axis = 0> (x, x) }
      >
    }
    """
    same(model(text), (floats(2, 3), np.array(True)), (floats(2, 3), np.array(False)))


CHOSEN = """
g (float[2000] x) => (float[k] y) {{
  s = ReduceSum <keepdims = 0> (x)
  z = Constant <value_float = 0.0> ()
  flag = Less (s, z)
  [chosen] y = If (flag) <
    then_branch = a () => (float[2000] p) {{ p = Tanh(x) }},
    else_branch = b () => (float[{out}] p) {{ {body} }}
  >
}}
"""


def test_branches_of_other_shapes_are_told_by_computed_data() -> None:
    text = CHOSEN.format(out=4000, body="p = Concat <axis = 0> (x, x)")
    same(model(text), *((np.abs(floats(2000)) * sign,) for sign in (1, -1)))


def test_a_branch_may_give_what_it_selects() -> None:
    body = "n = NonZero (x)  t = Transpose (n)  p = GatherND (x, t)"
    x = floats(2000) * (floats(2000) > 0)
    text = CHOSEN.format(out="m", body=body)
    same(model(text), *((np.abs(x) * sign,) for sign in (1, -1)))


def test_branches_of_other_ranks_by_computed_data_name_the_node() -> None:
    body = "q = Constant <value_ints = [40, 50]> ()  p = Reshape (x, q)"
    text = CHOSEN.format(out="40, 50", body=body)
    with pytest.raises(HidetError, match=r"(?s)f32\[2000\] in one branch.*chosen"):
        hidet_onnx.compile(model(text)).run([floats(2000)])


def test_iterations_select() -> None:
    text = """
    g (float[m, 3] x, int64 trips) => (float[m, 3] y, float[k] rows) {
      yes = Constant <value = bool {1}> ()
      half = Constant <value_float = 0.5> ()
      y, rows = Loop (trips, yes, x) <
        body = b (int64 i, bool c, float[m, 3] a) => (bool go, float[m, 3] a2, float row) {
          r = Relu (a)
          n = NonZero (r)
          t = Transpose (n)
          v = GatherND (a, t)
          row = ReduceSum <keepdims = 0> (v)
          d = Sub (a, half)
          a2 = Mul (d, half)
          go = Identity (c)
        }
      >
    }
    """
    same(model(text), *((floats(m, 3) + 0.5, np.array(3)) for m in (1, 2, 7)))


LOOP = """
g (int64 trips, float[n, 3] x, float[3, 3] w) => (float[n, 3] y, int64 last) {
  yes = Constant <value = bool {1}> ()
  zero = Constant <value_int = 0> ()
  limit = Constant <value_float = 0.1> ()
  y, last = Loop (trips, yes, x, zero) <
    body = b (int64 i, bool c, float[n, 3] a, int64 s)
        => (bool go, float[n, 3] a2, int64 s2) {
      m = MatMul(a, w)
      a2 = Tanh(m)
      s2 = Add(s, i)
      d = Abs(a2)
      e = ReduceMax <keepdims = 0> (d)
      go = Less (limit, e)
    }
  >
}
"""


def test_iterations_end_by_their_number_or_by_what_they_compute() -> None:
    w = np.eye(3, dtype=np.float32) * 0.9
    calls = [(np.array(trips), floats(n, 3), w) for trips in (0, 1, 3, 5000) for n in (2, 5)]
    same(model(LOOP), *calls)


def test_rows_of_many_iterations_are_stacked() -> None:
    text = """
    g (float[m] x) => (float y, float[m] rows) {
      shape = Shape (x)
      trips = Squeeze (shape)
      zero = Constant <value_float = 0.0> ()
      y, rows = Loop (trips, , zero) <
        body = b (int64 i, bool c, float a) => (bool c2, float a2, float row) {
          v = Gather (x, i)
          a2 = Add (a, v)
          row = Mul (a2, v)
          c2 = Identity (c)
        }
      >
    }
    """
    same(model(text), *((floats(m) / 9,) for m in (1, 2, 129, 3001)))


HALVED = """
g (float[2000] x, int64 most) => (float y, float[k] rows, float[k, 2] more) {
  yes = Constant <value = bool {1}> ()
  few = Constant <value_int = 7> ()
  far = Constant <value_int = 9223372036854775807> ()
  data = Add (few, most)
  s = ReduceSum <keepdims = 0> (x)
  y, rows, more = Loop (TRIPS, yes, s) <
    body = b (int64 i, bool c, float a) => (bool go, float a2, float row, float[2] pair) {
      two = Constant <value_float = 2.0> ()
      axis = Constant <value_ints = [0]> ()
      a2 = Div (a, two)
      row = Identity (a2)
      u = Unsqueeze (a, axis)
      pair = Concat <axis = 0> (u, u)
      go = GO
    }
  >
}
"""


@pytest.mark.parametrize("go", ["Less (two, a)", "Identity (c)"])
@pytest.mark.parametrize("trips", ["", "few", "far", "most", "data"])
def test_rows_of_as_many_iterations_as_data_tell(trips: str, go: str) -> None:
    if trips in ("", "far") and "c" in go:
        return  # nothing would end it
    made = model(HALVED.replace("TRIPS", trips).replace("GO", go))
    same(made, *((np.abs(floats(2000)) * scale, np.array(most))
                 for scale in (0, 1, 50) for most in (0, 2, 9)))  # fmt: skip


def test_iterations_that_grow_a_tensor_or_a_list_are_taken_one_by_one() -> None:
    text = """
    g (float[1, 3] x) => (float[k, 3] y, float[k, 3] z) {
      five = Constant <value_int = 5> ()
      yes = Constant <value = bool {1}> ()
      none = SequenceEmpty ()
      y, all = Loop (five, yes, x, none) <
        body = b (int64 i, bool c, float[j, 3] a, seq(float[1, 3]) l)
            => (bool c2, float[j2, 3] a2, seq(float[1, 3]) l2) {
          a2 = Concat <axis = 0> (a, x)
          l2 = SequenceInsert (l, x)
          c2 = Identity (c)
        }
      >
      z = ConcatFromSequence <axis = 0> (all)
    }
    """
    same(model(text), (floats(1, 3),))


def test_a_list_of_known_length_goes_through_iterations_that_data_count() -> None:
    text = """
    g (int64 trips, float[2, 3] x) => (float[2, 3] y) {
      yes = Constant <value = bool {1}> ()
      l = SequenceConstruct (x, x)
      zero = Constant <value_int = 0> ()
      one = Constant <value_int = 1> ()
      end = Loop (trips, yes, l) <
        body = b (int64 i, bool c, seq(float[2, 3]) l1) => (bool c2, seq(float[2, 3]) l2) {
          a = SequenceAt (l1, zero)
          b = SequenceAt (l1, one)
          s = Add (a, b)
          t = Tanh (s)
          l2 = SequenceConstruct (b, t)
          c2 = Identity (c)
        }
      >
      y = SequenceAt (end, one)
    }
    """
    same(model(text), *((np.array(trips), floats(2, 3)) for trips in (0, 1, 7)))


SCAN = """
g (float[2, 3] s, float[2, n, 3] x, float[n, 2, 3] z) => (float[2, 3] t, float[2, n, 3] rows) {
  t, rows = Scan (s, x, z) <
    num_scan_inputs = 2, scan_input_axes = [1, 0], scan_input_directions = [0, 1],
    scan_output_axes = [-2], scan_output_directions = [1],
    body = b (float[2, 3] a, float[2, 3] p, float[2, 3] q) => (float[2, 3] a2, float[2, 3] row) {
      m = Mul (a, p)
      a2 = Add (m, q)
      row = Tanh (a2)
    }
  >
}
"""


@pytest.mark.parametrize("steps", [1, 2, 7, 129])
def test_scan_goes_along_any_axis_in_both_directions(steps: int) -> None:
    calls = [(floats(2, 3), floats(2, steps, 3) / 3, floats(steps, 2, 3))]
    same(model(SCAN), *calls)
    same(model(SCAN.replace(", n", f", {steps}").replace("[n", f"[{steps}")), *calls)


SCAN_8 = """
<ir_version: 3, opset_import: ["" : 8]>
g (int64[b] lengths, float[b, 2] s, float[b, 5, 2] x) => (float[b, 2] t, float[b, 5, 2] rows) {
  t, rows = Scan (lengths, s, x) <
    num_scan_inputs = 1,
    body = b (float[2] a, float[2] p) => (float[2] a2, float[2] row) {
      a2 = Add (a, p)
      row = Identity (a2)
    }
  >
}
"""


def test_scan_8_ends_each_sample_after_its_own_length() -> None:
    made = parser.parse_model(SCAN_8)
    lengths, s, x = np.array([5, 0, 3]), floats(3, 2), floats(3, 5, 2)
    last, rows = hidet_onnx.compile(made).run([lengths, s, x])
    for sample, length in enumerate(lengths):
        sums = s[sample] + np.cumsum(x[sample].astype(np.float64), 0)
        np.testing.assert_allclose(rows[sample, :length], sums[:length], rtol=1e-5)
        assert not np.any(rows[sample, length:])
        expected = sums[length - 1] if length else s[sample]
        np.testing.assert_allclose(last[sample], expected, rtol=1e-5)


def test_an_operator_that_nothing_runs_is_named_within_a_branch() -> None:
    text = IF.replace("Tanh(q)", "NoSuchOperator(q)")
    with pytest.raises(HidetError, match="NoSuchOperator"):
        hidet_onnx.compile(model(text)).run([floats(2, 3), np.array(True)])


def test_what_a_function_refuses_is_the_only_reason_of_its_calls() -> None:
    """The second call reads what the first would have given; it is no operator without a
    converter."""
    text = """<ir_version: 10, opset_import: ["" : 20, "own" : 1]>
    g (float[n] x) => (float[n] z) {
        places = NonZero(x)
        sum = ReduceSum<keepdims = 0>(places)
        flag = Cast<to = 9>(sum)
        y = own.f(x, flag)
        z = own.f(y, flag)
    }
    <domain: "own", opset_import: ["" : 20, "unknown" : 1]>
    f (x, flag) => (y) {
        y = If (flag) <
            then_branch = a () => (float[n] p) { p = unknown.Foo(x) },
            else_branch = b () => (float[n] q) { q = Neg(x) }>
    }
    """
    with pytest.raises(
        UnsupportedOp, match=r"runs unknown\.Foo, which its body needs: there is no"
    ) as e:
        hidet_onnx.compile(parser.parse_model(text))
    assert "own.f" not in str(e.value.message)


def test_a_loop_whose_carried_tensor_grows_is_named() -> None:
    """Only data say how often; a loop whose trips are a number is written out instead."""
    text = """<ir_version: 10, opset_import: ["" : 20]>
    g (float[k, 3] x) => (float[m, 3] y) {
      s = ReduceSum<keepdims = 0>(x)  n = Cast<to = 7>(s)
      one = Constant<value_int = 1>()  c = Cast<to = 9>(one)
      y = Loop<body = b (int64 i, bool go, float[p, 3] a) => (bool again, float[q, 3] z) {
        again = Identity(go)  z = Concat<axis = 0>(a, x) }>(n, c, x)
    }"""
    with pytest.raises(UnsupportedOp, match="what a loop carries keeps its shape"):
        hidet_onnx.compile(parser.parse_model(text))
