"""The networks that CPUs are compared on, at their published sizes with random weights.

Names are those of `benchmarks.cpu`; `small` makes each small enough for a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
import transformers
from torch import nn

from benchmarks.architectures import built
from benchmarks.exports import (
    NARROW,
    Subject,
    bert_fixed,
    llama,
    mobilenet,
    of_transformers,
    resnet,
    swin,
    tokens,
    vit,
    whisper_encoder,
)
from benchmarks.exports import gpt2 as gpt2_one_token
from benchmarks.models import NETWORKS, build
from benchmarks.networks.settle import settle
from benchmarks.networks.tensors_only import First, WithCache


def picture(stem: str, small: bool, **sizes: Any) -> Subject:
    """A model of transformers of these sizes, for one image."""
    model = built(f"{stem}Model", f"{stem}Config", **sizes)
    size = 64 if small else 224
    settle(model, torch.randn(4, 3, size, size))
    return Subject(First(model, "pixel_values"), (torch.randn(1, 3, size, size),))


def mobilenet_same(small: bool) -> Subject:
    """TensorFlow's padding: windows of stride 2 reach over the right and lower borders alone."""
    return picture("MobileNetV2", small, depth_multiplier=0.25 if small else 1.0)


def efficientnet_b0(small: bool) -> Subject:
    sizes = {"width_coefficient": 0.25, "hidden_dim": 320}
    published = {"width_coefficient": 1.0, "hidden_dim": 1280}
    return picture("EfficientNet", small, **(sizes if small else published), depth_coefficient=1.0)


def convnext_t(small: bool) -> Subject:
    """With scales of layers that let their results count: fresh ones are 1e-6."""
    sizes = {"hidden_sizes": [8, 16, 16, 32], "depths": [1] * 4}
    made = picture("ConvNext", small, **(sizes if small else {}))
    for name, scale in made.model.named_parameters():
        if name.endswith("layer_scale_parameter"):
            nn.init.constant_(scale, 0.5)
    return made


def distilbert(small: bool) -> Subject:
    sizes = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "vocab_size": 99}
    model = of_transformers("DistilBertModel", sizes if small else {}, "DistilBert")
    return Subject(
        First(model, "input_ids"), (tokens(99, 2, 9) if small else tokens(30522, 1, 128),)
    )


def gpt2(small: bool) -> Subject:
    sizes: dict[str, Any] = {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4}
    config = transformers.GPT2Config(**(sizes if small else {}), use_cache=False)
    ids = tokens(config.vocab_size, 1, 9 if small else 128)
    return Subject(First(transformers.GPT2LMHeadModel(config), "input_ids"), (ids,))


def llama_one_token(small: bool) -> Subject:
    """A step of decoding: one token after 128 others, whose keys and values are given."""
    sizes: dict[str, Any] = {**NARROW, "vocab_size": 99, "num_key_value_heads": 2}
    if not small:
        sizes = {
            **{"vocab_size": 4096, "hidden_size": 2048, "intermediate_size": 8192},
            **{"num_hidden_layers": 2, "num_attention_heads": 32, "num_key_value_heads": 8},
        }
    config = transformers.LlamaConfig(**sizes)
    shape = (1, config.num_key_value_heads, 5 if small else 128, config.head_dim)
    past = tuple(torch.randn(shape) for _ in range(2 * config.num_hidden_layers))
    model = WithCache(transformers.LlamaForCausalLM(config))
    return Subject(model, (tokens(config.vocab_size, 1, 1), *past))


COMPARED: Mapping[str, Callable[[bool], Subject]] = {
    "resnet50": resnet,
    "mobilenet_v2": mobilenet,
    "mobilenet_v2_same": mobilenet_same,
    "efficientnet_b0": efficientnet_b0,
    "convnext_t": convnext_t,
    "swin_t": swin,
    "vit_b16": vit,
    "bert_base": bert_fixed,
    "distilbert": distilbert,
    "gpt2": gpt2,
    "gpt2_one_token": gpt2_one_token,
    "llama": llama,
    "llama_one_token": llama_one_token,
    "whisper_encoder": whisper_encoder,
}
"""Those that ONNX Runtime is compared on."""


def of_models(name: str, small: bool) -> Subject:
    """A network of `benchmarks.models`."""
    return Subject(*build(name))


PUBLISHED: Mapping[str, Callable[[bool], Subject]] = COMPARED | {
    name: partial(of_models, name) for name in NETWORKS if name not in COMPARED
}
"""All that can be measured on a CPU."""


def published(
    name: str, small: bool = False, among: Mapping[str, Callable[[bool], Subject]] = PUBLISHED
) -> Subject:
    """A network in evaluation mode with its inputs; the caller's random state is kept."""
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        made = among[name](small)
    made.model.eval().requires_grad_(False)
    return made
