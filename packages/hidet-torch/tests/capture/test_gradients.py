"""Calls that ask for gradients: compiled until these are taken, and always those of eager."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from compiling import close, compiled
from torch import nn

from hidet.frontend.importing.report import FallbackWarning
from hidet_torch.calling.run import GraphCall


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each call of a compiled graph."""
    seen: list[int] = []
    usual = GraphCall.__init__

    def spy(self: GraphCall, *args: Any) -> None:
        usual(self, *args)
        run = self.run
        self.run = lambda boxed: seen.append(1) or run(boxed)  # type: ignore[func-returns-value]

    monkeypatch.setattr(GraphCall, "__init__", spy)
    return seen


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4)).eval()


def gradients(function: Callable[..., torch.Tensor], net: nn.Module, x: torch.Tensor) -> list[Any]:
    """Those of all weights and of the input."""
    given = x.clone().requires_grad_()
    found = torch.autograd.grad(function(given).square().sum(), [*net.parameters(), given])
    return list(found)


def test_who_forgot_no_grad_gets_the_compiled_model(calls: list[int]) -> None:
    net, x = model(), torch.randn(3, 8)
    fast = compiled(net)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        for _ in range(3):
            found = fast(x)
            close(found, net(x))
            assert found.requires_grad
    assert len(calls) == 3
    with torch.no_grad():
        net[0].weight.mul_(2)
    close(fast(x), net(x))


def test_gradients_are_those_of_eager_and_the_user_is_told_once(calls: list[int]) -> None:
    net, x = model(), torch.randn(3, 8)
    fast = compiled(net)
    expected = gradients(net, net, x)
    with pytest.warns(FallbackWarning, match="runs in PyTorch from now on"):
        close(gradients(fast, net, x), expected)
    assert len(calls) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        close(gradients(fast, net, x), expected)
    assert len(calls) == 1  # PyTorch runs it by now
    with torch.no_grad():
        close(fast(x), net(x))
    assert len(calls) == 2


@pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
def test_a_step_of_training_after_another() -> None:
    net, twin = model().train(), model().train()
    twin.load_state_dict(net.state_dict())
    fast, x = compiled(net), torch.randn(3, 8)
    for each, call in ((net, fast), (twin, twin)):
        optimizer = torch.optim.SGD(each.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            call(x).square().sum().backward()
            optimizer.step()
    for a, b in zip(net.parameters(), twin.parameters(), strict=True):
        close(a, b)


@pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
def test_results_without_gradients_and_that_are_no_tensors() -> None:
    weight = nn.Parameter(torch.randn(4, 4))

    def function(x: torch.Tensor) -> tuple[Any, ...]:
        y = x @ weight
        return y, y.detach() + 1, y.argmax(-1), x.shape[0], None

    fast, x = compiled(function), torch.randn(3, 4)
    found, expected = fast(x), function(x)
    close(found[:3], expected[:3])
    assert found[3:] == (3, None)
    assert [each.requires_grad for each in found[:3]] == [True, False, False]
    assert found[1].numpy() is not None
    found[0].sum().backward()
    close(weight.grad, x.sum(0)[:, None].expand(4, 4))


@pytest.mark.parametrize("kind", ["random", "writes", "view", "autocast"])
def test_what_cannot_run_twice_stays_in_pytorch(kind: str, calls: list[int]) -> None:
    net, x = nn.Linear(8, 8), torch.randn(3, 8)
    total = torch.zeros(3, 8)

    def function(x: torch.Tensor) -> Any:
        y = net(x)
        if kind == "random":
            return nn.functional.dropout(y, 0.5)
        if kind == "writes":
            total.add_(y.detach())
        return (y, net.weight.t()) if kind == "view" else y

    fast = compiled(function)
    with torch.autocast("cpu", torch.bfloat16, enabled=kind == "autocast"):
        torch.manual_seed(1)
        with pytest.warns(FallbackWarning, match="for inference call the model under"):
            found = fast(x)
        torch.manual_seed(1)
        kept = total.clone()
        close(found, function(x))
    if kind == "writes":
        close(total, 2 * kept)
    assert not calls
    first = found[0] if kind == "view" else found
    first.float().sum().backward()
    assert net.weight.grad is not None


@pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
def test_a_weight_changed_before_its_gradient_is_taken_is_noticed() -> None:
    net, x = model(), torch.randn(3, 8)
    found = compiled(net)(x)
    with torch.no_grad():
        net[0].weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        found.sum().backward()


@pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
def test_sizes_that_change() -> None:
    net = model()
    fast = compiled(net, dynamic=True)
    for rows in (3, 5):
        x = torch.randn(rows, 8)
        close(fast(x), net(x))
    close(gradients(fast, net, torch.ones(7, 8)), gradients(net, net, torch.ones(7, 8)))
