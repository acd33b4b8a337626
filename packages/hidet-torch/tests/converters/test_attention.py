"""PyTorch's own attention operators, with what they give beside attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from tracing import by_reference, imported

import hidet_torch

aten = torch.ops.aten
torch.manual_seed(0)
q, k, v = torch.randn(2, 3, 7, 5), torch.randn(2, 3, 9, 5), torch.randn(2, 3, 9, 5)
added = torch.randn(2, 3, 7, 9)
KINDS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "flash": (aten._scaled_dot_product_flash_attention.default, ()),
    "flash on a CPU": (aten._scaled_dot_product_flash_attention_for_cpu.default, ()),
    "efficient": (aten._scaled_dot_product_efficient_attention.default, (None, True)),
    "efficient, added": (aten._scaled_dot_product_efficient_attention.default, (added, True)),
    "cudnn": (aten._scaled_dot_product_cudnn_attention.default, (None, True)),
    "cudnn, added": (aten._scaled_dot_product_cudnn_attention.default, (added, True)),
}


def exact(mask: torch.Tensor | None, causal: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention and the logarithms of its sums in float64."""
    scores = q.double() @ k.double().mT / math.sqrt(5)
    if mask is not None:
        scores = scores + mask.double()
    if causal:
        scores = scores.masked_fill(~torch.ones(7, 9, dtype=torch.bool).tril(), -math.inf)
    return scores.softmax(-1) @ v.double(), scores.logsumexp(-1)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_attention_and_its_sums(kind: str, causal: bool) -> None:
    target, given = KINDS[kind]
    mask = next((each for each in given if isinstance(each, torch.Tensor)), None)
    masks = () if mask is None else (mask,)

    def attend(q: Any, k: Any, v: Any, *masks: Any) -> Any:
        others = iter(masks)
        own = [next(others) if isinstance(each, torch.Tensor) else each for each in given]
        return target(q, k, v, *own, 0.0, causal)[:2]

    graph = imported(attend, q, k, v, *masks)
    assert graph.coverage.left == {}
    found, sums = by_reference(graph, q, k, v, *masks)
    attention, logarithms = exact(mask, causal)
    np.testing.assert_allclose(found, attention.numpy(), rtol=1e-5, atol=1e-6)
    flat = sums[:, :, :7].reshape(2, 3, 7)  # one of them has rows in multiples of 32
    np.testing.assert_allclose(flat, logarithms.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "added" not in kind])
def test_sums_that_nobody_reads_are_not_computed(kind: str) -> None:
    target, given = KINDS[kind]
    graph = imported(lambda q, k, v: target(q, k, v, *given)[0], q, k, v).graph
    assert "attention" in {node.op.name for node in graph.nodes}
    assert not {"matmul", "logsumexp"} & {node.op.name for node in graph.nodes}


def test_sums_that_are_not_asked_for_are_none() -> None:
    target = aten._scaled_dot_product_efficient_attention.default
    graph = imported(lambda q, k, v: target(q, k, v, None, False)[1], q, k, v)
    assert by_reference(graph, q, k, v)[0].shape == (2, 3, 0)


def test_the_sums_are_those_of_pytorch() -> None:
    target = aten._scaled_dot_product_flash_attention_for_cpu.default
    ours = by_reference(imported(lambda *given: target(*given)[1], q, k, v), q, k, v)[0]
    np.testing.assert_allclose(ours, target(q, k, v)[1].numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layer", ["attention", "encoder"])
@pytest.mark.parametrize("mode", ["training", "evaluation"])
@torch.no_grad()
def test_layers_of_pytorch_reach_attention(layer: str, mode: str) -> None:
    made: torch.nn.Module = torch.nn.MultiheadAttention(12, 3, batch_first=True)
    if layer == "encoder":
        each = torch.nn.TransformerEncoderLayer(12, 3, 24, dropout=0.0, batch_first=True)
        made = torch.nn.TransformerEncoder(each, 2, enable_nested_tensor=False)
    made.train(mode == "training")
    x = torch.randn(2, 5, 12)
    named: dict[str, Any] = {"need_weights": False} if layer == "attention" else {}
    given = (x, x, x) if layer == "attention" else (x,)
    (graph,) = hidet_torch.explain(made, *given, **named).flow
    names = [node.op.name for node in graph.nodes]
    assert names.count("attention") == (1 if layer == "attention" else 2)
    assert "softmax" not in names
