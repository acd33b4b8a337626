"""Noticing that the names of a model mean other tensors."""

from __future__ import annotations

import torch
from torch import nn

from hidet_torch.weights.named import Named


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
