"""Operators of ONNX Runtime's own domain, beside ONNX Runtime."""

from __future__ import annotations

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
