"""Calls of graphs that PyTorch runs whole."""

from __future__ import annotations

import pytest
import torch

from hidet.frontend.importing.report import FallbackWarning
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
