"""Language models of the transformers package, from their configurations: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)


def bert_base() -> nn.Module:
    """Tokens (n, 128) to states (n, 128, 768) and a pooled state; 109 482 240 parameters."""
    return BertModel(BertConfig())


def gpt2() -> nn.Module:
    """Tokens (n, 128) to logits (n, 128, 50257); 124 439 808 parameters."""
    return GPT2LMHeadModel(GPT2Config(use_cache=False))


def llama() -> nn.Module:
    """The shape of Llama-3.2-1B: tokens (n, 512) to logits; 1 235 814 400 parameters."""
    return LlamaForCausalLM(llama_config(layers=16, vocabulary=128256))


def llama_small() -> nn.Module:
    """Two of the layers of `llama` and a small vocabulary: its operators, on small machines."""
    return LlamaForCausalLM(llama_config(layers=2, vocabulary=4096))


def llama_config(layers: int, vocabulary: int) -> LlamaConfig:
    """The published sizes of a layer of Llama-3.2-1B, any number of them."""
    return LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=2048,
        intermediate_size=8192,
        num_hidden_layers=layers,
        num_attention_heads=32,
        num_key_value_heads=8,
        head_dim=64,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        use_cache=False,
        bos_token_id=None,
        eos_token_id=None,
    )


def mixtral() -> nn.Module:
    """Eight layers like Mixtral's, narrower: 8 experts, two for each of (n, 128) tokens."""
    return MixtralForCausalLM(
        MixtralConfig(num_local_experts=8, intermediate_size=3584, **mixture_sizes())
    )


def qwen3_moe() -> nn.Module:
    """Eight layers like those of Qwen3-30B-A3B, narrower: 64 experts, eight for each token."""
    return Qwen3MoeForCausalLM(
        Qwen3MoeConfig(
            num_experts=64, num_experts_per_tok=8, moe_intermediate_size=384, **mixture_sizes()
        )
    )


def mixture_sizes() -> dict[str, Any]:
    """What the mixtures of experts have in common."""
    return {
        "vocab_size": 32000,
        "hidden_size": 1024,
        "num_hidden_layers": 8,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "head_dim": 64,
        "use_cache": False,
    }


def gpt2_decoder(length: int) -> nn.Module:
    """The sizes of `gpt2`, for texts of `length` tokens at least."""
    return GPT2LMHeadModel(GPT2Config(n_positions=max(1024, length)))


def llama_decoder(length: int) -> nn.Module:
    """`llama`, which texts of any length fit."""
    return llama()


def llama_small_decoder(length: int) -> nn.Module:
    """`llama_small`, the same."""
    return llama_small()


DECODERS: dict[str, Callable[[int], nn.Module]] = {
    "llama": llama_decoder,
    "gpt2": gpt2_decoder,
    "llama_small": llama_small_decoder,
}
"""Models that continue a text, made for caches of a length; the last one serves tests."""
