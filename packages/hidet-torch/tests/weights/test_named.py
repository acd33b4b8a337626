"""Noticing that the names of a model mean other tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from hidet_torch.weights import named as module
from hidet_torch.weights.named import FEW, Named


def tied() -> nn.Module:
    net = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3, bias=False)})
    net["b"].weight = net["a"].weight
    return net


def test_writes_in_place_are_not_replacements() -> None:
    net = tied()
    named = Named(net)
    with torch.no_grad():
        net["a"].weight.fill_(1)
        net["a"].bias.data = torch.zeros(3)
    assert named.are_same()


def test_what_stands_in_the_place_of_what() -> None:
    net = tied()
    named, old, new = Named(net), net["a"].bias, nn.Parameter(torch.ones(3))
    net["a"].bias = new
    assert not named.are_same()
    found = named.replaced()
    assert found is not None
    assert found[id(old)] is new
    named.look()
    assert named.are_same()


def test_ties_that_are_cut_are_more_than_a_replacement() -> None:
    net = tied()
    named = Named(net)
    net["b"].weight = nn.Parameter(torch.ones(3, 3))
    assert named.replaced() is None


def test_names_that_come_or_go_are_more_than_a_replacement() -> None:
    net = tied()
    named = Named(net)
    del net["b"]
    assert not named.are_same()
    assert named.replaced() is None


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        lambda net: setattr(net[7], "weight", nn.Parameter(torch.ones(3, 3))),
        lambda net: setattr(net[0], "bias", None),
        lambda net: net.__delitem__(8),
        lambda net: net.__setitem__(3, nn.Linear(3, 3)),
        lambda net: net[5].register_buffer("mask", torch.ones(3)),
        lambda net: delattr(net[2], "weight"),
    ],
)
def test_many_names_are_looked_at_by_one_function(
    change: Callable[[Any], object], compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setattr(module, "compiled", lambda: None)
    net = nn.Sequential(*(nn.Linear(3, 3) for _ in range(9)))
    net[5].register_buffer("mask", torch.zeros(3))
    named = Named(net)
    assert len(named.keys) > FEW
    assert (named.are_same != named.by_python) == compiled
    assert named.are_same()
    change(net)
    assert not named.are_same()
    named.look()
    assert named.are_same()
