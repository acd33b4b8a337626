"""Mixtures of experts, beside ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from one_node import Array, by_hidet, by_runtime, check, model_of

RANDOM = np.random.default_rng(0)
EXPERTS, WIDTH, INNER = 4, 16, 32


def floats(*shape: int) -> Array:
    """Numbers between -1 and 1."""
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "identity", "swiglu"])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("normalised", [0, 1])
def test_experts(activation: str, k: int, normalised: int) -> None:
    outputs = 2 * INNER if activation == "swiglu" else INNER
    how: dict[str, Any] = {"swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": 1.0,
                           "swiglu_limit": 1.0}  # fmt: skip
    first = floats(EXPERTS, outputs, WIDTH), floats(EXPERTS, outputs)
    second = floats(EXPERTS, WIDTH, INNER), floats(EXPERTS, WIDTH)
    given = [floats(7, WIDTH), floats(7, EXPERTS), *first, *second]
    check("MoE", given, held=[2, 3, 4, 5], k=k, normalize_routing_weights=normalised,
          activation_type=activation, **(how if activation == "swiglu" else {}))  # fmt: skip


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("block", [0, 16])
@pytest.mark.parametrize("has_zero", [False, True])
def test_experts_of_packed_weights(bits: int, block: int, has_zero: bool) -> None:
    """ONNX Runtime's QMoE rounds activations to bytes where it can: beside its MoE."""
    operands, real = [], []
    for rows, columns in ((2 * INNER, WIDTH), (WIDTH, INNER)):
        numbers = RANDOM.integers(0, 2**bits, (EXPERTS, rows, columns))
        blocks = columns // block if block else 1
        scale = (floats(EXPERTS, rows, blocks) ** 2 + 0.1) / 2**bits
        zeros = RANDOM.integers(0, 2**bits, scale.shape) if has_zero and block else None
        middle = 2 ** (bits - 1) if zeros is None else zeros.repeat(columns // blocks, -1)
        real.append(((numbers - middle) * scale.repeat(columns // blocks, -1)).astype(np.float32))
        operands.append(
            [packed(numbers, bits), scale if block else scale[..., 0],
             None if zeros is None else packed(zeros, bits)]
        )  # fmt: skip
    x, router = floats(2, 3, WIDTH), floats(6, EXPERTS)
    biases = floats(EXPERTS, 2 * INNER), floats(EXPERTS, WIDTH)
    how: dict[str, Any] = {"k": 2, "normalize_routing_weights": 1, "activation_type": "swiglu",
                           "swiglu_fusion": 1}  # fmt: skip
    first, second = operands
    given = [x, router, first[0], first[1], biases[0], second[0], second[1], biases[1], None, None,
             None, first[2], second[2]]  # fmt: skip
    sizes = {"block_size": block} if block else {}
    filled = [each for each in given if each is not None]
    model = model_of("QMoE", given, 1, expert_weight_bits=bits, **sizes, **how)
    plain = [x, router, real[0], biases[0], real[1], biases[1]]
    (wanted,) = by_runtime(model_of("MoE", plain, 1, **how), plain)
    np.testing.assert_allclose(by_hidet(model, filled)[0], wanted, rtol=1e-4, atol=1e-5)


def packed(numbers: Array, bits: int) -> Array:
    """Numbers in bytes, the first in the low bits; a row's last byte may hold fewer."""
    each = 8 // bits
    padding = [(0, 0)] * (numbers.ndim - 1) + [(0, -numbers.shape[-1] % each)]
    apart = np.pad(numbers, padding).reshape(*numbers.shape[:-1], -1, each)
    return (apart << (np.arange(each) * bits)).sum(-1).astype(np.uint8)
