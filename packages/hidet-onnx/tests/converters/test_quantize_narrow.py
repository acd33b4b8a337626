"""Quantising to narrow types and back, by tensor, axis and block, as the reference does."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import hidet_onnx

FLOATS = [
    TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2,
    TensorProto.FLOAT8E5M2FNUZ, TensorProto.FLOAT4E2M1, TensorProto.FLOAT6E2M3,
    TensorProto.FLOAT6E3M2,
]  # fmt: skip
INTEGERS = [
    TensorProto.INT4, TensorProto.UINT4, TensorProto.INT2, TensorProto.UINT2, TensorProto.INT8,
    TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16,
]  # fmt: skip
FORMS = {"tensor": ((), 0), "axis": ((5,), 0), "blocks": ((3, 3, 4), 2)}
"""By name the shape of the scale of a tensor [3, 5, 4] along its axis 1, and the size of blocks."""


def spelled(code):
    return TensorProto.DataType.Name(code)


def kind(code):
    return np.dtype(helper.tensor_dtype_to_np_dtype(code))


def model(nodes, inputs, result, version):
    """A model of nodes whose result is y."""
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in inputs.items()
    ]
    graph = helper.make_graph(
        nodes, "narrow", given, [helper.make_tensor_value_info("y", result, None)]
    )
    imports = [helper.make_opsetid("", version)]
    return helper.make_model(graph, opset_imports=imports, ir_version=13)


def agree(nodes, inputs, result, version=28):
    """Whether compiled nodes give what onnx's reference does, bit by bit."""
    made = model(nodes, inputs, result, version)
    (wanted,) = ReferenceEvaluator(made).run(None, inputs)
    (found,) = results(hidet_onnx.compile(made, options={"fallback": "error"})(*inputs.values()))
    assert found.dtype == wanted.dtype
    words = np.dtype(f"u{wanted.dtype.itemsize}")
    np.testing.assert_array_equal(found.view(words), wanted.view(words))


def results(found):
    return found if isinstance(found, list | tuple) else (found,)


def zeros_of(code, shape, random):
    """Zero points: those of floats are zero."""
    if code in FLOATS:
        return np.zeros(shape, kind(code))
    return np.asarray(random.integers(0, 2, shape)).astype(kind(code))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("code", [*FLOATS, *INTEGERS], ids=spelled)
def test_dequantizing(code, form):
    random = np.random.default_rng(code)
    shape, block = FORMS[form]
    x = random.integers(0, 4, (3, 5, 4)).astype(kind(code))
    scale = random.uniform(0.1, 2, shape).astype(np.float32)
    inputs = {"x": x, "scale": scale, "zero": zeros_of(code, shape, random)}
    for names in (["x", "scale"], ["x", "scale", "zero"]):
        node = helper.make_node("DequantizeLinear", names, ["y"], axis=1, block_size=block)
        agree([node], {name: inputs[name] for name in names}, TensorProto.FLOAT)


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("code", [*FLOATS, *INTEGERS], ids=spelled)
def test_quantizing(code, form, saturate):
    random = np.random.default_rng(code)
    shape, block = FORMS[form]
    x = (random.standard_normal((3, 5, 4)) * 300).astype(np.float32)
    x[0, 0, :] = 0, -0.0, 1e9, -1e9
    scale = random.uniform(0.1, 40, shape).astype(np.float32)
    inputs = {"x": x, "scale": scale, "zero": zeros_of(code, shape, random)}
    node = helper.make_node(
        "QuantizeLinear", [*inputs], ["y"], axis=1, block_size=block, saturate=saturate
    )
    agree([node], inputs, code)
    del inputs["zero"]
    node = helper.make_node(
        "QuantizeLinear", [*inputs], ["y"], axis=1, block_size=block, saturate=saturate,
        output_dtype=code,
    )  # fmt: skip
    agree([node], inputs, code)


@pytest.mark.parametrize("code", [*FLOATS, *INTEGERS], ids=spelled)
def test_what_is_quantized_and_read_again_in_one_kernel_is_rounded(code):
    x = np.random.default_rng(3).standard_normal((7, 13)).astype(np.float32)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale"], ["q"], output_dtype=code),
        helper.make_node("DequantizeLinear", ["q", "scale"], ["y"]),
    ]
    inputs = {"x": x, "scale": np.asarray(0.25, np.float32)}
    agree(nodes, inputs, TensorProto.FLOAT)


@pytest.mark.parametrize("code", FLOATS[:4], ids=spelled)
def test_products_of_float8_keep_their_fractions(code):
    """The reference has none; all values here are exact in float32."""
    random = np.random.default_rng(5)
    a, b = (random.integers(-7, 8, shape).astype(kind(code)) for shape in ((5, 3), (3, 4)))
    a = (a.astype(np.float32) / 4).astype(kind(code))
    inputs = {
        "a": a, "a_scale": np.asarray(2, np.float32), "b": b,
        "b_scale": np.asarray([1, 0.5, 4, 64], np.float32), "y_scale": np.asarray(0.5, np.float32),
        "zero": np.zeros((), kind(code)), "zeros": np.zeros(4, kind(code)),
    }  # fmt: skip
    names = ["a", "a_scale", "zero", "b", "b_scale", "zeros", "y_scale", "zero"]
    made = model([helper.make_node("QLinearMatMul", names, ["y"])], inputs, code, 21)
    found = hidet_onnx.compile(made, options={"fallback": "error"})(*inputs.values())
    exact = (a.astype(np.float32) * 2) @ (b.astype(np.float32) * inputs["b_scale"]) / 0.5
    info = ml_dtypes.finfo(kind(code))
    wanted = np.clip(exact, info.min, info.max).astype(kind(code))
    np.testing.assert_array_equal(found.view(np.uint8), wanted.view(np.uint8))
