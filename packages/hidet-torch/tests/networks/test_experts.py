"""Mixtures of experts of transformers, small and random: nothing is left to PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

import hidet_torch

SIZES: dict[str, Any] = {
    **{"vocab_size": 99, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "pad_token_id": 0, "use_cache": False},
}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "mixtral": ("Mixtral", {"num_local_experts": 4}),
    "qwen3-moe": (
        "Qwen3Moe",
        {"num_experts": 6, "num_experts_per_tok": 3, "moe_intermediate_size": 24, "head_dim": 8},
    ),
}


def built(name: str) -> torch.nn.Module:
    """The model with random weights, the same every time."""
    torch.manual_seed(0)
    stem, sizes = MODELS[name]
    config = getattr(transformers, f"{stem}Config")(**SIZES, **sizes)
    model: torch.nn.Module = getattr(transformers, f"{stem}ForCausalLM")(config).eval()
    return model


def logits(model: Any, tokens: torch.Tensor) -> torch.Tensor:
    """What a model, or one compiled, says of a text."""
    found: torch.Tensor = model(input_ids=tokens).logits
    return found


def error(found: torch.Tensor, exact: torch.Tensor) -> float:
    """How far a result is from the exact one, as a part of it."""
    return float((found.double() - exact).norm() / exact.norm())


@torch.no_grad()
def compare(name: str, tokens: torch.Tensor, device: str, dtype: torch.dtype) -> None:
    """A compiled model agrees with float64 about as well as eager does."""
    tokens = tokens.to(device)
    wide = built(name).double()
    wide.config._experts_implementation = "eager"  # PyTorch's grouped product is of narrow types
    exact = logits(wide, tokens.cpu())
    eager = logits(built(name).to(device, dtype), tokens).cpu()
    compiled = hidet_torch.compile(
        built(name).to(device, dtype), input_ids=tokens, fallback="error"
    )
    found = logits(compiled, tokens).cpu()
    assert found.dtype == eager.dtype
    assert error(found, exact) <= 2 * error(eager, exact)


@pytest.mark.parametrize("shape", [(1, 1), (2, 7)], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_a_mixture_compiles_whole(name: str, shape: tuple[int, int]) -> None:
    tokens = torch.randint(1, 99, shape, generator=torch.Generator().manual_seed(1))
    compare(name, tokens, "cpu", torch.float32)


class Grouped(torch.nn.Module):
    """PyTorch's own product of groups, of matrices that lie the other way round."""

    def forward(self, x: torch.Tensor, w: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        return torch._grouped_mm(x, w.transpose(-2, -1), offs=ends) * 2


def test_the_product_of_pytorch() -> None:
    """Of bfloat16: PyTorch traces it for no other type."""
    torch.manual_seed(0)
    x, w = torch.randn(9, 16).bfloat16(), torch.randn(4, 24, 16).bfloat16()
    given = [torch.tensor(each, dtype=torch.int32) for each in ([0, 5, 5, 9], [9, 9, 9, 9])]
    compiled = hidet_torch.compile(Grouped(), x, w, given[0], fallback="error")
    for ends in given:
        rows = torch.searchsorted(ends, torch.arange(9, dtype=torch.int32), right=True)
        exact = torch.einsum("ik,ijk->ij", x.double(), w.double()[rows]) * 2
        found, eager = compiled(x, w, ends), Grouped()(x, w, ends)
        assert found.dtype == eager.dtype
        assert error(found, exact) <= 2 * error(eager, exact)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_a_mixture_compiles_whole_on_a_gpu(name: str, dtype: torch.dtype) -> None:
    tokens = torch.randint(1, 99, (2, 65), generator=torch.Generator().manual_seed(1))
    compare(name, tokens, "cuda", dtype)
