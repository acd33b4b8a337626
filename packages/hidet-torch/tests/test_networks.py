"""Whole networks: no operator of the seven is left to PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import hidet_torch
from hidet.build.choosing.choices import has_schedule
from hidet.build.choosing.grouping import optimized
from hidet.build.choosing.schedule import implement
from hidet.fusion import partition
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.optimize import split
from hidet.target import Target
from hidet_torch.backend import hidet

sys.path.append(str(Path(__file__).parent / "models"))
import convnets

transformers = pytest.importorskip("transformers")

IMAGE = (1, 3, 96, 96)
TARGETS = [Target.parse(each) for each in ("cpu+avx512", "cpu", "sm_90a", "sm_80")]


def bert() -> nn.Module:
    return transformers.BertModel(transformers.BertConfig(num_hidden_layers=2))


def gpt2() -> nn.Module:
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=2))


def vit() -> nn.Module:
    return transformers.ViTModel(transformers.ViTConfig(num_hidden_layers=2, image_size=96))


def llama() -> nn.Module:
    config = transformers.LlamaConfig(
        num_hidden_layers=2, hidden_size=256, intermediate_size=512, num_attention_heads=8,
        num_key_value_heads=4, vocab_size=1000,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


NETWORKS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Any], dict[str, int]]] = {
    "resnet50": (convnets.resnet50, lambda: torch.randn(IMAGE), {"convolution": 53}),
    "mobilenet_v2": (convnets.mobilenet_v2, lambda: torch.randn(IMAGE), {"convolution": 52}),
    "inception_v3": (
        convnets.inception_v3,
        lambda: torch.randn(1, 3, 128, 128),
        {"convolution": 94},
    ),
    "bert": (bert, lambda: torch.randint(0, 900, (2, 16)), {"sdpa": 2, "native_layer_norm": 5}),
    "gpt2": (gpt2, lambda: torch.randint(0, 900, (2, 16)), {"sdpa": 2, "addmm": 8}),
    "vit": (vit, lambda: torch.randn(IMAGE), {"sdpa": 2, "convolution": 1}),
    "llama": (llama, lambda: torch.randint(0, 900, (2, 16)), {"sdpa": 2, "silu": 2}),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_every_operator_is_compiled(name: str) -> None:
    torch.manual_seed(0)
    make, example, counts = NETWORKS[name]
    explanation = hidet_torch.explain(make().eval(), example())
    assert explanation.coverage.left == {}
    assert explanation.graphs == 1
    short = {full.split(".")[-2]: count for full, count in explanation.coverage.compiled.items()}
    assert {each: short.get(each) for each in counts} == counts
    (graph,) = explanation.flow
    unscheduled = {
        (node.op, target)
        for target in TARGETS
        for node in split(optimized(graph, target)).main.nodes
        if isinstance(node.op, Matmul | Linear | Conv) and not has_schedule(node.op, target)
    }
    assert unscheduled == set()


@torch.no_grad()
@pytest.mark.parametrize(("make", "layer", "ends"), [(bert, 5, 3), (gpt2, 5, 3), (llama, 8, 2)])
def test_kernels_of_a_layer(make: Callable[[], nn.Module], layer: int, ends: int) -> None:
    """Attention has one, products take in what surrounds them; norms have one where no product
    makes their rows, or something else reads them."""
    torch.manual_seed(0)
    target = Target.parse("sm_90a")
    net = make().half().eval()
    net.config.use_cache = False  # keys and values would be results too
    (graph,) = hidet_torch.explain(net, torch.randint(0, 900, (1, 128))).flow
    main = split(optimized(graph, target)).main
    groups = partition(main, lambda op: has_schedule(op, target))
    made = [each for group in groups if not group.is_shape for each in implement(group, target)]
    assert sum(len(each.module.calls) for each in made) == 2 * layer + ends


def tiny_llama() -> nn.Module:
    config = transformers.LlamaConfig(
        num_hidden_layers=1, hidden_size=32, intermediate_size=48, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=50,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def tiny_bert() -> nn.Module:
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
        intermediate_size=48,
    )  # fmt: skip
    return transformers.BertModel(config)


def tiny_gpt2() -> nn.Module:
    config = transformers.GPT2Config(vocab_size=50, n_embd=32, n_layer=1, n_head=4)
    return transformers.GPT2LMHeadModel(config)


TINY: dict[str, tuple[Callable[[], nn.Module], Callable[[], Any]]] = {
    "resnet": (lambda: convnets.resnet50((1, 1), 8), lambda: torch.randn(1, 3, 32, 32)),
    "mobilenet": (lambda: convnets.mobilenet_v2(short=True), lambda: torch.randn(1, 3, 32, 32)),
    "llama": (tiny_llama, lambda: torch.randint(0, 50, (2, 7))),
    "bert": (tiny_bert, lambda: torch.randint(0, 50, (2, 7))),
    "gpt2": (tiny_gpt2, lambda: torch.randint(0, 50, (2, 7))),
}


@torch.no_grad()
@pytest.mark.parametrize("name", TINY)
def test_small_networks_are_as_precise_as_eager(name: str) -> None:
    torch.manual_seed(0)
    torch._dynamo.reset()
    make, example = TINY[name]
    net, x = make().eval(), example()
    found = first(torch.compile(net, backend=hidet, fullgraph=True)(x))
    eager = first(net(x))
    exact = first(net.double()(x.double() if x.is_floating_point() else x))
    allowed = 4 * (eager - exact).abs().max() + 1e-6
    assert (found - exact).abs().max() <= allowed


def first(outputs: Any) -> torch.Tensor:
    """The first output of a model."""
    return outputs if isinstance(outputs, torch.Tensor) else outputs[0]
