"""A model whose parameters, buffers or modules are replaced after `hidet_torch.compile`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from compiling import close, model
from torch import nn

import hidet_torch
from hidet.errors import BadArgument


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        return self.head(self.embedding(x).exp()) + self.steps


def replace_a_parameter(net: nn.Module) -> None:
    net[0].weight = nn.Parameter(torch.randn(16, 8))


def replace_by_a_transposed_one(net: nn.Module) -> None:
    net[0].weight = nn.Parameter(torch.randn(8, 16).t())


def replace_a_module(net: nn.Module) -> None:
    net[3] = nn.Linear(16, 4)


def assign_a_state(net: nn.Module) -> None:
    state = {name: torch.randn_like(each) for name, each in net.state_dict().items()}
    net.load_state_dict(state, assign=True)


def change_the_type(net: nn.Module) -> None:
    for each in net.parameters():
        each.data = each.data.double()


def change_the_structure(net: nn.Module) -> None:
    net[3] = nn.Linear(16, 4, bias=False)


@pytest.mark.parametrize(
    "change",
    [
        replace_a_parameter, replace_by_a_transposed_one, replace_a_module, assign_a_state,
        change_the_type, change_the_structure,
    ],
)  # fmt: skip
def test_a_model_that_changes_is_followed(change: Callable[[nn.Module], None]) -> None:
    net, x = model(), torch.randn(3, 8)
    fast = hidet_torch.compile(net, x)
    close(fast(x), net(x))
    before = [(each, each.detach().clone()) for each in net.parameters()]
    change(net)
    if change is change_the_type:
        x = x.double()
        with pytest.raises(BadArgument, match=r"torch.float64 on cpu, compiled for torch.float32"):
            fast(x)
        return
    close(fast(x), net(x))
    with torch.no_grad():
        net[0].weight.mul_(2)
    close(fast(x), net(x))
    for old, value in before:
        if not any(old is each for each in net.parameters()):
            assert torch.equal(old, value), "what the model no longer holds is written to"


def test_replaced_tied_weights_and_buffers_that_are_written_to() -> None:
    net, twin, x = Tied(), Tied(), torch.tensor([1, 5, 0])
    twin.load_state_dict(net.state_dict())
    fast = hidet_torch.compile(net, x)
    close(fast(x), twin(x))
    for each in (net, twin):
        each.steps = torch.tensor(10.0)
    close(fast(x), twin(x))
    assert net.steps.item() == 11
    fresh = nn.Parameter(torch.randn(7, 4))
    for each in (net, twin):
        each.head.weight = fresh  # no longer tied
    close(fast(x), twin(x))
    for each in (net, twin):
        each.embedding.weight = fresh
    close(fast(x), twin(x))


def test_a_derived_weight_that_is_replaced_leaves_the_old_one_alone() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.weight

    net, x = Scaled(), torch.randn(2, 3)
    fast = hidet_torch.compile(net, x)
    for value in (torch.randn(4, 3).t(), torch.randn(3, 4), torch.randn(8, 3).t()[:, ::2]):
        old = net.weight.data
        kept = old.clone()
        net.weight.data = value
        close(fast(x), net(x).detach())
        assert torch.equal(old, kept)
