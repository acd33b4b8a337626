"""Generating text with small models: the tokens of eager, in a bounded number of graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from hidet_torch.backend import hidet

transformers = pytest.importorskip("transformers")

SIZES: dict[str, Any] = {
    "vocab_size": 50,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 49,
}


def llama() -> nn.Module:
    config = transformers.LlamaConfig(
        **SIZES, num_hidden_layers=1, hidden_size=32, intermediate_size=48, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def gpt2() -> nn.Module:
    config = transformers.GPT2Config(**SIZES, n_embd=32, n_layer=1, n_head=4, n_positions=64)
    return transformers.GPT2LMHeadModel(config)


@torch.no_grad()
@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("make", [llama, gpt2])
def test_generated_tokens_are_those_of_eager(make: Callable[[], nn.Module], cache: str) -> None:
    net = make().eval()
    graphs = 0

    def counting(graph_module: torch.fx.GraphModule, examples: Any) -> Any:
        nonlocal graphs
        graphs += 1
        return hidet(graph_module, examples, options={"fallback": "error"})

    options = {"max_new_tokens": 3, "do_sample": False, "disable_compile": True}
    if cache == "static":
        options["cache_implementation"] = "static"
    texts = [torch.randint(3, 48, (1, length)) for length in (5, 7, 4, 9, 6)]
    expected = [net.generate(text, **options) for text in texts]
    net.forward = torch.compile(net.forward, backend=counting)
    for text, tokens in zip(texts, expected, strict=True):
        assert torch.equal(net.generate(text, **options), tokens)
    # Reading a text and continuing it: for the first sizes, and for all sizes that change after.
    assert graphs <= 6
