"""Calls of graphs that PyTorch runs whole."""

from __future__ import annotations

import pytest
import torch

from hidet.frontend.importing.report import FallbackWarning
from hidet_torch.calling.run import CompiledCall
from hidet_torch.calling.uncompiled import EagerCall


def left(x: torch.Tensor) -> torch.Tensor:
    return torch.special.bessel_j1(torch.special.bessel_j0(x.t()))


def test_nothing_lies_between_the_model_and_its_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EagerCall, "run", None)
    call = torch.compile(left, backend="hidet")
    x = torch.linspace(-3, 3, 35).reshape(5, 7)
    with pytest.warns(FallbackWarning):
        found = call(x)
    torch.testing.assert_close(found, left(x), rtol=0, atol=0)
    torch.testing.assert_close(call(x + 1), left(x + 1), rtol=0, atol=0)


def test_gradients_are_not_recorded() -> None:
    call = torch.compile(left, backend="hidet", options={"inference": True})
    with pytest.warns(FallbackWarning):
        assert not call(torch.ones(2, 3, requires_grad=True)).requires_grad


@torch.no_grad()
def test_views_of_arguments_are_what_pytorch_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is computed and nothing left undone, so that there is nothing to warn of."""
    monkeypatch.setattr(CompiledCall, "__call__", None)
    views = lambda x: (*x.unbind(0), x.t(), *x.split(2, 1), x[1:].reshape(-1))
    call = torch.compile(views, backend="hidet", options={"fallback": "error"})
    x = torch.arange(35.0).reshape(5, 7)
    for found, wanted in zip(call(x), views(x), strict=True):
        assert found.data_ptr() == wanted.data_ptr()
        assert found.stride() == wanted.stride()
        assert found.shape == wanted.shape


@torch.no_grad()
def test_what_writes_to_an_argument_is_compiled() -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x[1:]

    x, y = torch.zeros(5, 7), torch.zeros(5, 7)
    found = torch.compile(call, backend="hidet", options={"fallback": "error"})(x)
    torch.testing.assert_close(found, call(y))
    torch.testing.assert_close(x, y)
    assert found.data_ptr() == x[1:].data_ptr()
