"""Caches of transformers as inputs and results of `hidet_torch.compile`."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import transformers
from compiling import close
from torch.export import Dim
from torch.utils import _pytree
from transformers.integrations.executorch import register_dynamic_cache_export_support

import hidet_torch
from hidet.errors import BadArgument

SIZES = {
    "vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 48, "num_key_value_heads": 2, "pad_token_id": 0,
}  # fmt: skip


@pytest.fixture
def taken_apart() -> Iterator[None]:
    """PyTorch knows the tensors of a DynamicCache."""
    register_dynamic_cache_export_support()
    yield
    _pytree._deregister_pytree_node(transformers.DynamicCache)


def llama() -> Any:
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)).eval()


def tokens(length: int) -> torch.Tensor:
    return torch.randint(1, 99, (2, length), generator=torch.Generator().manual_seed(length))


@torch.no_grad()
def test_a_cache_is_given_and_taken(taken_apart: None) -> None:
    net, prompt, following = llama(), tokens(7), tokens(1)
    first = hidet_torch.compile(net, prompt, fallback="error")
    found, expected = first(prompt), net(prompt)
    close(found.logits, expected.logits)
    for ours, theirs in zip(found.cache.layers, expected.cache.layers, strict=True):
        close(ours.keys, theirs.keys)
        close(ours.values, theirs.values)
    cache = found.cache
    given = following, None, None, cache  # `cache` is an option's name, so by position
    step = hidet_torch.compile(net, *copy.deepcopy(given), fallback="error")
    again = step(*copy.deepcopy(given))
    close(again.logits, net(*copy.deepcopy(given)).logits)
    assert again.cache.get_seq_length() == 8
    with pytest.raises(
        BadArgument, match=r"compiled for \(\*, \*, \*, \(\[\*, \*\], \[\*, \*\]\)\)"
    ):
        step(following, None, None, None)


@torch.no_grad()
def test_caches_of_any_length_are_decoded(taken_apart: None) -> None:
    net = llama()
    grows = [[{2: Dim.DYNAMIC}] * 2] * 2
    ours = theirs = net(tokens(7)).cache
    given = tokens(1), None, None, copy.deepcopy(ours)
    step = hidet_torch.compile(
        net, *given, dynamic_shapes=({}, None, None, grows), fallback="error"
    )
    for _ in range(3):
        found = step(tokens(1), None, None, copy.deepcopy(ours))
        expected = net(tokens(1), None, None, copy.deepcopy(theirs))
        close(found.logits, expected.logits)
        ours, theirs = found.cache, expected.cache
    assert ours.get_seq_length() == 10


@torch.no_grad()
def test_a_cache_of_sliding_windows_is_refused(taken_apart: None) -> None:
    """Of it PyTorch would learn the tensors, and not how many tokens were read."""
    torch.manual_seed(0)
    config = transformers.Gemma3TextConfig(
        **SIZES, head_dim=8, sliding_window=4, layer_types=["sliding_attention", "full_attention"]
    )
    net = transformers.Gemma3ForCausalLM(config).eval()
    with pytest.raises(BadArgument, match="keep the last tokens"):
        hidet_torch.compile(net, tokens(7))
    found = hidet_torch.compile(net, tokens(7), use_cache=False, fallback="error")
    close(found(tokens(7), use_cache=False).logits, net(tokens(7)).logits)
