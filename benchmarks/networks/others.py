"""Networks that only the comparison on a GPU has, at their published sizes with random weights.

The last six are architectures that nothing was developed against.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from benchmarks.architectures import built
from benchmarks.exports import NARROW, Subject, settled, tokens
from benchmarks.models import build
from benchmarks.networks.chains import DenseNet, Vgg
from benchmarks.networks.tensors_only import First
from benchmarks.published import picture


def densenet121(small: bool) -> Subject:
    return settled(DenseNet((2, 2), 8) if small else DenseNet(), 64 if small else 224)


def vgg16(small: bool) -> Subject:
    return settled(Vgg((1, 1), 8) if small else Vgg(), 32 if small else 224)


def of_texts(
    stem: str, model: str, published: Mapping[str, Any], **small: Any
) -> Callable[[bool], Subject]:
    """A model of transformers for a text of 128 tokens."""

    def make(is_small: bool) -> Subject:
        sizes = {**NARROW, "vocab_size": 99, **small} if is_small else published
        net = built(model, f"{stem}Config", **sizes)
        ids = tokens(99, 2, 9) if is_small else tokens(30000, 1, 128)
        return Subject(First(net, "input_ids"), (ids,))

    return make


def of_images(stem: str, **small: Any) -> Callable[[bool], Subject]:
    """A model of transformers for an image, as it is published unless it is to be small."""
    return lambda is_small: picture(stem, is_small, **(small if is_small else {}))


T5_BASE = {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12, "vocab_size": 32128}
RELATIVE = {
    **{"relative_attention": True, "position_buckets": 256},
    **{"norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": ["p2c", "c2p"]},
    **{"layer_norm_eps": 1e-7, "max_relative_positions": -1, "position_biased_input": False},
}
DEBERTA_V3_BASE = {
    **{"vocab_size": 128100, "hidden_size": 768, "intermediate_size": 3072},
    **{"num_hidden_layers": 12, "num_attention_heads": 12, **RELATIVE},
}
PYTHIA_160M = {
    **{"vocab_size": 50304, "hidden_size": 768, "intermediate_size": 3072},
    **{"num_hidden_layers": 12, "num_attention_heads": 12, "use_cache": False},
}
QWEN2_HALF_BILLION = {
    **{"vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864, "use_cache": False},
    **{"num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2},
}
SMALL_T5 = {"d_model": 32, "d_ff": 48, "d_kv": 8, "num_layers": 2, "num_heads": 4}


def llama_1b(small: bool) -> Subject:
    """The decoder of `benchmarks.models`, for a text of 512 tokens."""
    where = "cuda" if torch.cuda.is_available() else "cpu"
    model, inputs = build("llama_small" if small else "llama", drawn_on=where)
    return Subject(First(model, "input_ids"), inputs)


OTHERS: Mapping[str, Callable[[bool], Subject]] = {
    "llama_1b": llama_1b,
    "densenet121": densenet121,
    "vgg16": vgg16,
    "t5_encoder": of_texts("T5", "T5EncoderModel", T5_BASE, **SMALL_T5),
    "deberta_v3": of_texts("DebertaV2", "DebertaV2Model", DEBERTA_V3_BASE, **RELATIVE),
    "pythia": of_texts("GPTNeoX", "GPTNeoXForCausalLM", PYTHIA_160M, use_cache=False),
    "regnet": of_images("RegNet", hidden_sizes=[8, 16, 16, 32], depths=[1] * 4, groups_width=8),
    "segformer_b0": of_images("Segformer", hidden_sizes=[8, 16, 16, 32], depths=[1] * 4),
    "dinov2": of_images("Dinov2", **{**NARROW, "image_size": 64, "patch_size": 16}),
    "modernbert": of_texts("ModernBert", "ModernBertModel", {}, pad_token_id=0),
    "electra": of_texts(
        "Electra",
        "ElectraModel",
        {"embedding_size": 768, "hidden_size": 768, "num_attention_heads": 12}
        | {"intermediate_size": 3072},
    ),
    "qwen2": of_texts(
        "Qwen2", "Qwen2ForCausalLM", QWEN2_HALF_BILLION, num_key_value_heads=2, use_cache=False
    ),
}
"""Each function takes whether it is to be small enough for a test."""
