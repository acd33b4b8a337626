"""Attention's masks and the scores it gives on the way, beside onnx's reference."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import hidet_onnx
from hidet.errors import HidetError

RANDOM = np.random.default_rng(0)
Q, K, V = (RANDOM.uniform(-1, 1, (2, heads, n, 8)).astype(np.float32)
           for heads, n in ((4, 5), (2, 7), (2, 7)))  # fmt: skip
BOOL = RANDOM.random((5, 7)) < 0.6
MASKS = {"bool": BOOL, "float": np.where(BOOL, 0, -1).astype(np.float32), "none": None}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("causal", [0, 1])
def test_the_scores_on_the_way(mask: str, mode: int, causal: int) -> None:
    arrays = [each for each in (Q, K, V, MASKS[mask]) if each is not None]
    names = ["q", "k", "v", "mask"][: len(arrays)]
    node = helper.make_node(
        "Attention", names, ["y", "", "", "scores"], qk_matmul_output_mode=mode, is_causal=causal,
        softcap=2.0 if mode else 0.0,  # the reference caps scores that the text calls raw
    )  # fmt: skip
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, arrays, strict=True)
    ]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("y", "scores")]
    graph = helper.make_graph([node], "attention", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)
    found = hidet_onnx.compile(model).run(arrays)
    wanted = ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True)))
    for each, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(each, other, rtol=1e-4, atol=1e-5)


def precise(asked: int, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Attention, and its weights, whose softmax is computed in the type that is asked for."""
    node = helper.make_node(
        "Attention", ["q", "k", "v"], ["y", "", "", "weights"], softmax_precision=asked,
        qk_matmul_output_mode=3,
    )  # fmt: skip
    inputs = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape)
        for n, a in zip("qkv", arrays, strict=True)
    ]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("y", "weights")]
    graph = helper.make_graph([node], "attention", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)
    return hidet_onnx.compile(model, options={"fallback": "error"}).run(arrays)


def test_a_softmax_in_float64_is_right_to_the_last_place_of_float32() -> None:
    q, k, v = (20 * each for each in (Q[:, :2], K, V))
    scores = q.astype(np.float64) @ k.swapaxes(-1, -2) / np.sqrt(8)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    found, told = precise(TensorProto.DOUBLE, [q, k, v])
    np.testing.assert_allclose(told, weights, rtol=2e-7, atol=1e-30)
    np.testing.assert_allclose(found, weights @ v, rtol=1e-6, atol=1e-6)
    assert not np.allclose(precise(TensorProto.FLOAT, [q, k, v])[1], weights, rtol=2e-7, atol=1e-30)


def test_a_softmax_in_integers_is_refused() -> None:
    with pytest.raises(HidetError, match="softmax_precision is INT32"):
        precise(TensorProto.INT32, [Q, K, V])
