"""Operators of ONNX Runtime's own domain, beside ONNX Runtime."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from one_node import Array, by_hidet, check, model_of

RANDOM = np.random.default_rng(0)


def floats(*shape: int) -> Array:
    """Numbers between -1 and 1."""
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


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
    found = computed([x, weight, bias], "NhwcConv", "com.microsoft")
    turned = [x.transpose(0, 3, 1, 2), weight.transpose(0, 3, 1, 2), bias]
    wanted = computed(turned, "Conv", "").transpose(0, 2, 3, 1)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def computed(inputs: list[Array], kind: str, domain: str) -> Array:
    """The result of a convolution."""
    model = model_of(kind, inputs, 1, domain, pads=[1, 0, 1, 0])
    return by_hidet(model, inputs)[0]


def test_norms_of_sums() -> None:
    x, skip, gamma = floats(2, 5, 8), floats(2, 5, 8), floats(8)
    check("SkipLayerNormalization", [x, skip, gamma, floats(8), floats(8)], epsilon=1e-5)
    check("SkipSimplifiedLayerNormalization", [x, skip, gamma], epsilon=1e-5)


def test_embeddings() -> None:
    ids = RANDOM.integers(0, 11, (2, 5)).astype(np.int32)
    segments = RANDOM.integers(0, 2, (2, 5)).astype(np.int32)
    mask = np.ones((2, 5), np.int32)
    tables = [floats(11, 8), floats(7, 8), floats(2, 8)]
    check(
        "EmbedLayerNormalization",
        [ids, segments, *tables, floats(8), floats(8), mask],
        3,
        compared=2,
    )


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


def erf(x: Array) -> Array:
    """The error function in float64."""
    return np.vectorize(math.erf)(x.astype(np.float64))


def gelu(x: Array) -> Array:
    return x * (1 + erf(x / np.sqrt(2))) / 2


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def groups(x: Array, gamma: Array, beta: Array, count: int) -> Array:
    """The group norm of x[n, h, w, c]."""
    apart = x.astype(np.float64).reshape(x.shape[0], -1, count, x.shape[-1] // count)
    centred = apart - apart.mean((1, 3), keepdims=True)
    found = centred / np.sqrt((centred**2).mean((1, 3), keepdims=True) + 1e-5)
    return found.reshape(x.shape) * gamma + beta


X, VECTOR = floats(2, 3, 5, 8), floats(8)
WANTED: dict[str, tuple[list[Array], dict[str, Any], Array]] = {
    "BiasSplitGelu": ([X, VECTOR], {}, (X + VECTOR)[..., :4] * gelu((X + VECTOR)[..., 4:])),
    "BiasAdd": ([X, VECTOR, X / 2], {}, X + VECTOR + X / 2),
    "BiasSoftmax": (
        [X, X[:1] / 3], {"axis": 3, "is_inner_broadcast": 0},
        np.exp(X + X[:1] / 3) / np.exp(X + X[:1] / 3).sum(-1, keepdims=True),
    ),
    "BiasDropout": ([X, VECTOR, X / 2], {}, X + VECTOR + X / 2),
    "GemmFastGelu": ([X[0, 0], X[1, 0].T, VECTOR[:5]], {}, gelu(X[0, 0] @ X[1, 0].T + VECTOR[:5])),
    "SwiGLU": (
        [X * 9], {"activation_alpha": 1.7, "activation_beta": 1.0, "limit": 2.0},
        np.minimum(X[..., :4] * 9, 2) * sigmoid(1.7 * np.minimum(X[..., :4] * 9, 2))
        * (np.clip(X[..., 4:] * 9, -2, 2) + 1),
    ),
    "FusedMatMulActivation": (
        [X[0, 0], X[1, 0]], {"transB": 1, "alpha": 0.5, "activation": "Relu"},
        np.maximum(X[0, 0] @ X[1, 0].T / 2, 0),
    ),
    "GroupNorm": (
        [X, VECTOR, VECTOR / 2], {"groups": 2, "activation": 1},
        groups(X, VECTOR, VECTOR / 2, 2) * sigmoid(groups(X, VECTOR, VECTOR / 2, 2)),
    ),
    "SkipGroupNorm": (
        [X, VECTOR, VECTOR, X[:, 0, 0] * 2, VECTOR], {"groups": 4, "activation": 0},
        groups(X + X[:, :1, :1] * 2 + VECTOR, VECTOR, VECTOR, 4),
    ),
    "GatedRMSNorm": (
        [X, VECTOR[:4], X / 2], {},
        (X.reshape(-1, 4) / np.sqrt((X.reshape(-1, 4) ** 2).mean(-1, keepdims=True) + 1e-5)
         * VECTOR[:4]).reshape(X.shape) * (X / 2) * sigmoid(X / 2),
    ),
}  # fmt: skip
"""Operators that ONNX Runtime has no kernel for on CPUs, with operands, attributes, the result."""


@pytest.mark.parametrize("kind", WANTED)
def test_what_is_defined_for_gpus_alone(kind: str) -> None:
    inputs, attributes, wanted = WANTED[kind]
    (found,) = by_hidet(model_of(kind, inputs, 1, **attributes), inputs)
    tolerance = 2e-3 if kind == "GemmFastGelu" else 1e-5  # its tanh approximates erf
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=tolerance)


def test_scaled_silu() -> None:
    check("ScaledSiLU", [floats(3, 7)], alpha=1.5)
    check("ScaledSiLU", [floats(3, 7), np.float32(0.7)[None].reshape(())])


def test_norms_without_a_mean() -> None:
    """ONNX Runtime files it under ONNX's own domain."""
    x, scale = floats(2, 5, 8), floats(8)
    check("SimplifiedLayerNormalization", [x, scale], 2, domain="", epsilon=1e-6, axis=-1)


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_pooling_of_channels_last(kind: Any) -> None:
    x = RANDOM.integers(np.iinfo(kind).min, np.iinfo(kind).max, (2, 9, 7, 3)).astype(kind)
    check("NhwcMaxPool", [x], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])


def test_convolutions_of_channels_last_and_their_activation() -> None:
    x, weight, other = floats(2, 7, 5, 3), floats(4, 3, 3, 3), floats(2, 7, 5, 4)
    given = [x, weight, floats(4), other]
    how: dict[str, Any] = {"pads": [1, 1, 1, 1], "activation": "Relu"}
    (found,) = by_hidet(model_of("NhwcFusedConv", given, 1, **how), given)
    plain = [each if each.ndim == 1 else each.transpose(0, 3, 1, 2) for each in given]
    (wanted,) = by_hidet(model_of("FusedConv", plain, 1, **how), plain)
    np.testing.assert_allclose(found, wanted.transpose(0, 2, 3, 1), rtol=1e-5, atol=1e-6)
