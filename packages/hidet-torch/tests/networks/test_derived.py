"""What is derived from weights: there once for all graphs of a model, and never stale."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import hidet_torch
from hidet.runtime.plans import derived
from hidet_torch.weights.weights import LIVE


class Block(nn.Module):
    """Three products of one operand, a convolution with its norm, and a product of their sum."""

    def __init__(self, size: int = 32) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(size, size) for _ in range(3))
        self.norm = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), nn.BatchNorm2d(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = torch.softmax(self.q(x) @ self.k(x).transpose(-1, -2), -1)
        return self.norm((scores @ self.v(x)).unsqueeze(1))


def compiled(net: nn.Module, rows: int) -> tuple[Callable[..., Any], torch.Tensor]:
    x = torch.randn(2, rows, 32)
    return hidet_torch.compile(net, x), x


def places(call: Any) -> list[int]:
    """Where a compiled graph's derived constants lie."""
    return [each.view.pointer for each in call.run.runner.executor.derived]


def is_right(call: Callable[..., Any], net: nn.Module, x: torch.Tensor) -> None:
    torch.testing.assert_close(call(x), net(x), rtol=1e-3, atol=1e-4)


@pytest.fixture
def net() -> nn.Module:
    torch.manual_seed(0)
    return Block().eval()


@torch.no_grad()
def test_graphs_of_one_model_share_what_is_derived(net: nn.Module) -> None:
    (short, x), (long, y) = compiled(net, 8), compiled(net, 16)
    common = set(places(short)) & set(places(long))
    assert len(common) >= 2  # the convolution with its norm, and the biases side by side
    is_right(short, net, x)
    is_right(long, net, y)


@torch.no_grad()
def test_both_follow_a_change(net: nn.Module) -> None:
    (short, x), (long, y) = compiled(net, 8), compiled(net, 16)
    for tensor in net.state_dict().values():
        if tensor.is_floating_point():
            tensor.mul_(1.5)
    is_right(long, net, y)
    is_right(short, net, x)


@torch.no_grad()
def test_a_change_before_the_second_is_compiled_is_in_both(net: nn.Module) -> None:
    short, x = compiled(net, 8)
    net.q.weight.data.mul_(2.0)  # PyTorch does not count it
    net.norm[0].bias.add_(1.0)
    long, y = compiled(net, 16)
    is_right(long, net, y)
    is_right(short, net, x)


@torch.no_grad()
def test_who_gets_other_weights_gets_memory_of_its_own(net: nn.Module) -> None:
    twin = Block().eval()
    twin.load_state_dict(net.state_dict(keep_vars=True), assign=True)  # the same tensors
    (short, x), (long, y) = compiled(net, 8), compiled(twin, 16)
    assert set(places(short)) & set(places(long))
    net.load_state_dict(Block().state_dict(), assign=True)
    is_right(short, net, x)
    is_right(long, twin, y)
    assert not set(places(short)) & set(places(long))


@torch.no_grad()
def test_models_do_not_share(net: nn.Module) -> None:
    one, other = compiled(net, 8)[0], compiled(Block().eval(), 8)[0]
    assert not set(places(one)) & set(places(other))


@torch.no_grad()
def test_it_goes_with_the_last_graph(net: nn.Module) -> None:
    gc.collect()
    before = len(derived._known)
    short, _ = compiled(net, 8)
    long, _ = compiled(net, 16)
    assert len(derived._known) > before
    del short
    gc.collect()
    assert len(derived._known) > before
    del long
    gc.collect()
    assert len(derived._known) == before


@torch.no_grad()
def test_shapes_of_one_torch_compile_share_too(net: nn.Module) -> None:
    known = set(LIVE)
    fast = torch.compile(net, backend="hidet", dynamic=False)
    for rows in (8, 16):
        is_right(fast, net, torch.randn(2, rows, 32))
    first, second = (
        {each.view.pointer for each in graph.runner.executor.derived}  # type: ignore[union-attr]
        for graph in set(LIVE) - known
    )
    assert first & second
