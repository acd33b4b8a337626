"""Weights that change: after a failure, by several threads, and while somebody captures."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import hidet_torch
from hidet.errors import Capturing
from hidet.runtime import Executor
from hidet.runtime.programs.host_program import HostProgram
from hidet_torch.weights.weight import Weight
from hidet_torch.weights.weights import Weights

Net = tuple[nn.Module, torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]


@pytest.fixture
def net() -> Net:
    """A model of whose weights something is made, an input, and the compiled call."""
    torch.manual_seed(0)
    model, x = nn.Linear(64, 129).eval(), torch.randn(7, 64)
    with torch.no_grad():
        call = torch.no_grad()(hidet_torch.compile(model, x))
        call(x)
        weights: Any = next(each for each in hidet_torch.weights.weights.LIVE if is_of(each, model))
    assert weights.runner.sources
    return model, x, call


def is_of(weights: Weights, model: nn.Module) -> bool:
    own = {id(each) for each in model.parameters()}
    return any(id(each.source) in own for each in weights.by_tensor.values())


def write(model: nn.Module) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_after_a_failure_the_next_call_makes_it_again(net: Net, monkeypatch: Any) -> None:
    """Before, the next call computed with what had been made of the weights before."""
    model, x, call = net
    write(model)
    with monkeypatch.context() as failing:
        failing.setattr(Executor, "refresh", lambda self, stream=0: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            call(x)
    torch.testing.assert_close(call(x), model(x).detach())


@pytest.mark.parametrize("counted", [True, False])
def test_a_call_waits_for_what_another_thread_makes(
    net: Net, counted: bool, monkeypatch: Any
) -> None:
    """Before, it read what was half made, and took it for right."""
    model, x, call = net
    begun, go_on, known = threading.Event(), threading.Event(), Executor.refresh

    def slow(self: Executor, stream: int = 0) -> None:
        begun.set()
        assert go_on.wait(10)
        known(self, stream)

    monkeypatch.setattr(Executor, "refresh", slow)
    if counted:
        write(model)
    else:
        for parameter in model.parameters():
            parameter.data.mul_(2)
        hidet_torch.refresh(model)
    found: list[torch.Tensor] = []
    threads = [in_thread(lambda: found.append(call(x)))]
    assert begun.wait(10)
    threads.append(in_thread(lambda: found.append(call(x))))
    threads[1].join(0.2)
    assert found == []
    go_on.set()
    for thread in threads:
        thread.join()
    for each in found:
        torch.testing.assert_close(each, model(x).detach())
    assert len(found) == 2


def test_a_call_under_way_when_all_is_made_again_runs_again(net: Net, monkeypatch: Any) -> None:
    """It may have read what was half made."""
    model, x, call = net
    begun, go_on, known = threading.Event(), threading.Event(), HostProgram.__call__
    runs = []

    def slow(self: HostProgram, addresses: Any, stream: int) -> None:
        main = bool(self.bound.plan.inputs)
        if main and threading.current_thread() is not threading.main_thread():
            runs.append(1)
            begun.set()
            assert go_on.wait(10)
        known(self, addresses, stream)

    monkeypatch.setattr(HostProgram, "__call__", slow)
    found: list[torch.Tensor] = []
    thread = in_thread(lambda: found.append(call(x)))
    assert begun.wait(10)
    write(model)
    torch.testing.assert_close(call(x), model(x).detach())
    go_on.set()
    thread.join()
    assert len(runs) == 2
    torch.testing.assert_close(found[0], model(x).detach())


def test_no_weight_is_copied_in_a_capture(monkeypatch: Any) -> None:
    """A captured copy is made when the graph runs, and is not there before."""
    monkeypatch.setattr("hidet_torch.weights.weight.is_captured", lambda device: True)
    source = torch.randn(6, 8)
    assert Weight.of(source, "cpu", (0, 1)).is_shared
    assert Weight.of(source.t(), "cpu", (1, 0)).is_shared
    for other in (source.t(), source.flatten()[1:17].view(2, 8), source[:, :4]):
        with pytest.raises(Capturing, match="copied"):
            Weight.of(other, "cpu", (0, 1))
