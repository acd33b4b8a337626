"""The measured networks by name; weights and inputs are random and the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import nn

from benchmarks.networks.inception import InceptionV3
from benchmarks.networks.language import (
    bert_base,
    gpt2,
    llama,
    llama_small,
    mixtral,
    qwen3_moe,
)
from benchmarks.networks.mlp import mlp
from benchmarks.networks.mobilenet import MobileNetV2
from benchmarks.networks.resnet import resnet18, resnet50
from benchmarks.networks.settle import settle
from benchmarks.networks.small_cnn import small_cnn
from benchmarks.networks.unet import UNet
from benchmarks.networks.vit import VisionTransformer


class Network(NamedTuple):
    """How a network is made, and one input of it without the batch."""

    make: Callable[[], nn.Module]
    shape: tuple[int, ...]
    vocabulary: int = 0
    """Inputs are token numbers below this; 0: they are normally distributed numbers."""


NETWORKS = {
    "resnet50": Network(resnet50, (3, 224, 224)),
    "mobilenet_v2": Network(MobileNetV2, (3, 224, 224)),
    "inception_v3": Network(InceptionV3, (3, 299, 299)),
    "vit_b16": Network(VisionTransformer, (3, 224, 224)),
    "bert_base": Network(bert_base, (128,), 30522),
    "gpt2": Network(gpt2, (128,), 50257),
    "llama": Network(llama, (512,), 128256),
    "llama_small": Network(llama_small, (128,), 4096),
    "mixtral": Network(mixtral, (128,), 32000),
    "qwen3_moe": Network(qwen3_moe, (128,), 32000),
    "unet": Network(UNet, (3, 256, 256)),
    "resnet18": Network(resnet18, (3, 224, 224)),
    "mlp": Network(mlp, (784,)),
    "small_cnn": Network(small_cnn, (3, 64, 64)),
    "small_cnn_gray": Network(partial(small_cnn, 1), (1, 64, 64)),
}
"""The first seven are the measured ones; the others serve tests and examples."""

MEASURED = tuple(NETWORKS)[:7]


def build(
    name: str,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    batch: int = 1,
    *,
    drawn_on: str = "cpu",
) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The network, in evaluation mode, and inputs for it; the caller's random state is kept.

    Numbers drawn on the CPU are the same on every machine; a billion of them take half a minute,
    on a GPU no time.
    """
    network = NETWORKS[name]
    elsewhere = [] if drawn_on == "cpu" else [torch.cuda.current_device()]
    with torch.random.fork_rng(elsewhere), torch.device(drawn_on):
        torch.manual_seed(0)
        model = network.make()
        if len(network.shape) == 3:
            settle(model, torch.randn(4, *network.shape))
        model = model.eval().requires_grad_(False)
        if network.vocabulary:
            return model.to(device, dtype), (tokens(network, batch).to(device),)
        return model.to(device, dtype), (torch.randn(batch, *network.shape).to(device, dtype),)


def tokens(network: Network, batch: int) -> torch.Tensor:
    """Random token numbers, all of the vocabulary equally likely."""
    return torch.randint(network.vocabulary, (batch, *network.shape))
