"""Operators of ONNX Runtime's own domain, beside ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import hidet_onnx

runtime = pytest.importorskip("onnxruntime")
RANDOM = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    """Numbers between -1 and 1."""
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


def check(
    kind: str, inputs: list[Any], outputs: int = 1, compared: int | None = None, **attributes: Any
) -> None:
    """What hidet computes is what ONNX Runtime computes; an input of None is left out."""
    names = [f"i{n}" if each is not None else "" for n, each in enumerate(inputs)]
    results = [f"o{n}" for n in range(outputs)]
    node = helper.make_node(kind, names, results, domain="com.microsoft", **attributes)
    given = {n: each for n, each in zip(names, inputs, strict=True) if n}
    values = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in given.items()
    ]
    graph = helper.make_graph(
        [node], "one", values, [helper.make_empty_tensor_value_info(n) for n in results]
    )
    imports = [helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=9)
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    wanted = session.run(None, given)
    found = hidet_onnx.compile(model, options={"fallback": "error"}).run([*given.values()])
    for each, other in [*zip(found, wanted, strict=True)][:compared]:
        np.testing.assert_allclose(each, other, rtol=1e-4, atol=1e-5)


def test_products_and_activations() -> None:
    check("FusedMatMul", [floats(2, 5, 7), floats(2, 3, 7)], alpha=0.5, transB=1)
    check("BiasGelu", [floats(3, 7), floats(7)])
    check("FastGelu", [floats(3, 7), floats(7)])
    check("QuickGelu", [floats(3, 7)])
    check("Gelu", [floats(3, 7)])


def test_products_of_transposed_batches() -> None:
    check("FusedMatMul", [floats(5, 2, 7), floats(7, 2, 3)], transBatchA=1, transBatchB=1)
    check("FusedMatMul", [floats(7, 2, 5), floats(2, 7, 3)], transBatchA=1, transA=1)


@pytest.mark.parametrize(
    ("activation", "given"),
    [("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 0.25]),
     ("HardSigmoid", [0.3, 0.4])],
)  # fmt: skip
def test_fused_activations(activation: str, given: list[float]) -> None:
    named: dict[str, Any] = {"activation_params": given} if given else {}
    check("FusedConv", [floats(1, 3, 7, 5), floats(4, 3, 3, 3), floats(4)], activation=activation,
          pads=[1, 1, 1, 1], strides=[2, 1], **named)  # fmt: skip
    if activation not in ("Clip",):
        alpha, beta = (*given, 0.0, 0.0)[:2]
        check("FusedGemm", [floats(3, 7), floats(5, 7), floats(5)], activation=activation,
              activation_alpha=alpha, activation_beta=beta, transB=1, alpha=0.5)  # fmt: skip


def test_convolutions_whose_channels_are_last() -> None:
    """ONNX Runtime has them on GPUs only: beside its own with channels second."""
    x, weight, bias = floats(2, 7, 5, 3), floats(4, 3, 3, 3), floats(4)
    found = computed("com.microsoft", "NhwcConv", [x, weight, bias], pads=[1, 0, 1, 0])
    turned = [x.transpose(0, 3, 1, 2), weight.transpose(0, 3, 1, 2), bias]
    wanted = computed("", "Conv", turned, pads=[1, 0, 1, 0]).transpose(0, 2, 3, 1)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def computed(domain: str, kind: str, inputs: list[Any], **attributes: Any) -> Any:
    """The result of a node."""
    names = [f"i{n}" for n in range(len(inputs))]
    node = helper.make_node(kind, names, ["o"], domain=domain, **attributes)
    values = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, inputs, strict=True)
    ]
    graph = helper.make_graph([node], "one", values, [helper.make_empty_tensor_value_info("o")])
    imports = [helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=9)
    return hidet_onnx.compile(model, options={"fallback": "error"})(*inputs)


def test_norms_of_sums() -> None:
    x, skip, gamma = floats(2, 5, 8), floats(2, 5, 8), floats(8)
    check("SkipLayerNormalization", [x, skip, gamma, floats(8), floats(8)], epsilon=1e-5)
    check("SkipSimplifiedLayerNormalization", [x, skip, gamma], epsilon=1e-5)


def test_embeddings() -> None:
    ids = RANDOM.integers(0, 11, (2, 5)).astype(np.int32)
    segments = RANDOM.integers(0, 2, (2, 5)).astype(np.int32)
    mask = np.ones((2, 5), np.int32)
    tables = [floats(11, 8), floats(7, 8), floats(2, 8)]
    check("EmbedLayerNormalization", [ids, segments, *tables, floats(8), floats(8), mask], 2)


@pytest.mark.parametrize(("k", "block"), [(32, 16), (40, 16)])
@pytest.mark.parametrize("has_zero", [False, True])
def test_packed_weights(k: int, block: int, has_zero: bool) -> None:
    n, blocks = 5, -(-k // block)
    b = RANDOM.integers(0, 256, (n, blocks, block // 2)).astype(np.uint8)
    zero = RANDOM.integers(0, 256, n * -(-blocks // 2)).astype(np.uint8) if has_zero else None
    check("MatMulNBits", [floats(3, k), b, floats(n * blocks), zero], K=k, N=n, bits=4,
          block_size=block)  # fmt: skip


def test_rotary_embedding() -> None:
    angles = floats(9, 4)
    places = np.arange(5, dtype=np.int64)[None].repeat(2, 0)
    x = floats(2, 5, 3 * 8)
    check("RotaryEmbedding", [x, places, np.cos(angles), np.sin(angles)])
    check("RotaryEmbedding", [x, np.array([2]), np.cos(angles), np.sin(angles)], interleaved=1)


@pytest.mark.parametrize("causal", [0, 1])
def test_attention_of_one_tensor(causal: int) -> None:
    x, weights, bias = floats(2, 5, 8), floats(8, 24), floats(24)
    check("Attention", [x, weights, bias], num_heads=2, unidirectional=causal)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    check("Attention", [x, weights, bias, mask], num_heads=2, unidirectional=causal)


def test_attention_of_three_tensors() -> None:
    q, k, v = floats(2, 5, 8), floats(2, 7, 8), floats(2, 7, 8)
    check("MultiHeadAttention", [q, k, v], num_heads=2)
    check("MultiHeadAttention", [q, k, v, floats(24), None, floats(2, 2, 5, 7)], num_heads=2)


@pytest.mark.parametrize("rotary", [0, 1])
def test_attention_with_shared_heads(rotary: int) -> None:
    q, k, v = floats(2, 5, 4 * 16), floats(2, 5, 2 * 16), floats(2, 5, 2 * 16)
    angles = floats(16, 8)
    lengths, total = np.full(2, 4, np.int32), np.array(5, np.int32)
    turn = [np.cos(angles), np.sin(angles)] if rotary else []
    check("GroupQueryAttention", [q, k, v, None, None, lengths, total, *turn], 3, num_heads=4,
          kv_num_heads=2, do_rotary=rotary)  # fmt: skip


@pytest.mark.parametrize("rotary", [0, 1])
@pytest.mark.parametrize("ends", [(6, 6), (6, 4)])
def test_attention_over_caches_of_any_length(rotary: int, ends: tuple[int, int]) -> None:
    q, k, v = floats(2, 1, 4 * 16), floats(2, 1, 2 * 16), floats(2, 1, 2 * 16)
    caches = [floats(2, 2, 6, 16), floats(2, 2, 6, 16)]
    angles = floats(16, 8)
    turn = [np.cos(angles), np.sin(angles)] if rotary else []
    lengths, total = np.array(ends, np.int32), np.array(7, np.int32)
    check("GroupQueryAttention", [q, k, v, *caches, lengths, total, *turn], 3,
          3 if ends == (6, 6) else 1, num_heads=4, kv_num_heads=2, do_rotary=rotary)  # fmt: skip
