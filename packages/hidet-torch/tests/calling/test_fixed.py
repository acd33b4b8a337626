"""Calls of fixed sizes: taken where they may be, and right where something lies otherwise."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import hidet_torch
from hidet.runtime.programs.host_program import HostProgram
from hidet_torch import refresh
from hidet_torch.cache import graph_cache
from hidet_torch.calling import run
from hidet_torch.calling.fixed import FixedCall, fixed_call
from hidet_torch.calling.run import GraphCall
from hidet_torch.capture import aot

CALLS: list[FixedCall | None] = []


@pytest.fixture(autouse=True)
def noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls that were made ready in a test."""
    CALLS.clear()

    def noting(imported: Any) -> FixedCall | None:
        CALLS.append(fixed_call(imported))
        return CALLS[-1]

    monkeypatch.setattr("hidet_torch.calling.run.fixed_call", noting)


def compiled(function: Any, **options: Any) -> Any:
    """The function through the backend, without gradients."""
    return torch.no_grad()(torch.compile(function, backend="hidet", **options))


@pytest.mark.parametrize(
    ("function", "is_fixed"),
    [
        (lambda x: x + 1, True),
        (lambda x: (x + 1, x * 2), True),
        (lambda x: (x, x + 1), True),  # Dynamo gives the input itself
        (lambda x: (x[1:], x + 1), False),
        (lambda x: (x + 1).t(), True),
        (lambda x: x.add_(1), False),
    ],
)
def test_plain_graphs_take_the_short_way(function: Any, is_fixed: bool) -> None:
    run = compiled(function)
    x = torch.randn(5, 7)
    for _ in range(2):
        torch.testing.assert_close(run(x.clone()), function(x.clone()))
    assert [call is not None for call in CALLS] == [is_fixed]


def test_symbolic_sizes_take_the_general_way() -> None:
    run = compiled(lambda x: x + 1, dynamic=True)
    for rows in (5, 6):
        x = torch.randn(rows, 7)
        torch.testing.assert_close(run(x), x + 1)
    assert CALLS == [None]


def test_an_input_that_lies_otherwise_than_the_first_is_right(monkeypatch: Any) -> None:
    general = []
    known = GraphCall.general
    monkeypatch.setattr(
        GraphCall, "general", lambda self, boxed: general.append(1) or known(self, boxed)
    )
    run = compiled(lambda x: x * 2)
    run(torch.randn(8, 8))
    memory = torch.randn(65)
    misaligned = memory[1:].view(8, 8)  # guards do not look at addresses
    torch.testing.assert_close(run(misaligned), misaligned * 2)
    assert general == [1]


def test_arguments_that_lie_otherwise_come_in_turns_with_usual_ones(monkeypatch: Any) -> None:
    general = []
    known = GraphCall.general
    monkeypatch.setattr(
        GraphCall, "general", lambda self, boxed: general.append(1) or known(self, boxed)
    )
    x, y = torch.randn(2, 8, 8)
    run = hidet_torch.compile(Sum(), x, y).run
    turned = x.t().contiguous().t()
    for one, other, is_usual in (
        (x, y, True),
        (turned, y, False),
        (y, x, True),
        (x, torch._neg_view(y), False),
        (x.clone(), y, True),
        (x, torch.randn(65)[1:].view(8, 8), False),
    ):
        general.clear()
        (found,) = run([one, other])
        torch.testing.assert_close(found, one - other)
        assert general == [1] * (not is_usual)


class Sum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x - y


def test_results_in_another_order_than_the_graphs() -> None:
    def function(x: torch.Tensor) -> Any:
        y, z = x + 1, (x * 2).t()
        return z, y, z

    run, x = compiled(function), torch.randn(3, 5)
    for _ in range(2):
        torch.testing.assert_close(run(x), function(x))


def test_moved_weights_are_used_where_they_are_now() -> None:
    linear = torch.nn.Linear(6, 6)
    run = compiled(linear)
    x = torch.randn(3, 6)
    run(x)
    with torch.no_grad():
        for each in linear.parameters():
            each.data = torch.randn_like(each)
        torch.testing.assert_close(run(x), linear(x))
    assert CALLS[0] is not None


class Scaled(torch.nn.Module):
    """A weight that calls read themselves, and one that another constant is derived from."""

    def __init__(self) -> None:
        super().__init__()
        self.read, self.source = (torch.nn.Parameter(torch.rand(4)) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.read + (self.source.exp() + 1)


@torch.no_grad()
def test_a_call_runs_twice_only_where_what_is_derived_changed(monkeypatch: Any) -> None:
    net, x, ran = Scaled(), torch.randn(3, 4), []
    call = compiled(net)
    torch.testing.assert_close(call(x), net(x))
    usual = HostProgram.__call__
    monkeypatch.setattr(
        HostProgram, "__call__", lambda self, *given: (ran.append(self.bound), usual(self, *given))
    )
    for change, runs in (
        (lambda: None, 1),
        (lambda: net.read.mul_(2), 1),
        (lambda: setattr(net.read, "data", torch.rand(4)), 2),  # derived once, run once
        (lambda: net.source.mul_(2), 3),
        (lambda: setattr(net.source, "data", torch.rand(4)), 3),
        (lambda: refresh(net), 2),
        (lambda: None, 1),
    ):
        ran.clear()
        change()
        torch.testing.assert_close(call(x), net(x))
        assert len(ran) == runs


def test_a_call_that_writes_to_its_arguments_never_runs_twice() -> None:
    class Cache(Scaled):
        def forward(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
            x.index_add_(0, at, (self.source.exp() + 1)[None])
            return x.sum()

    net, at = Cache(), torch.tensor([1])
    call = compiled(net)
    with torch.no_grad():
        for _ in range(3):
            found, expected = torch.zeros(3, 4), torch.zeros(3, 4)
            torch.testing.assert_close(call(found, at), net(expected, at))
            torch.testing.assert_close(found, expected)
            net.source.mul_(2)


def test_results_are_fresh_each_time() -> None:
    run = compiled(lambda x: x + 1)
    x = torch.zeros(4)
    first = run(x)
    second = run(x + 1)
    assert first.tolist() == [1] * 4
    assert second.tolist() == [2] * 4


def test_an_empty_result() -> None:
    run = compiled(lambda x: x[:0] + 1)
    assert run(torch.randn(4, 3)).shape == (0, 3)


@pytest.mark.parametrize(
    ("function", "times"),
    [
        (lambda x: (x + 1, x * 2), 1),
        (lambda x: (x[1:], x + 1), 0),  # a view of an input
        (lambda x: x.add_(1), 0),
        (lambda x: (y := x + 1, y.view(-1)), 0),
    ],
)
def test_only_plain_graphs_leave_aotautograds_wrapper_out(
    function: Any, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_out = []
    known = run.without_wrapper
    for module in (aot, graph_cache):
        monkeypatch.setattr(
            module, "without_wrapper", lambda call: left_out.append(call) or known(call)
        )
    call = compiled(function)
    x = torch.randn(5, 7)
    for _ in range(2):
        torch.testing.assert_close(call(x.clone()), function(x.clone()))
    assert len(left_out) == times


def test_a_view_of_a_result_shares_its_memory() -> None:
    first, second = compiled(lambda x: (y := x + 1, y.view(-1)))(torch.zeros(2, 3))
    first.fill_(7)
    assert second.tolist() == [7] * 6
