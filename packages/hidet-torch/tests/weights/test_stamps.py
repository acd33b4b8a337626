"""Whether weights were moved or written to, asked by a compiled function."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
import torch

import hidet_torch
from hidet_torch.weights import stamps
from hidet_torch.weights.stamps import by_function


@pytest.fixture
def tensors() -> list[torch.Tensor]:
    """More of them than Python should ask for."""
    return [torch.nn.Parameter(torch.randn(n + 1)) for n in range(12)]


def test_it_tells_what_python_tells(tensors: list[torch.Tensor]) -> None:
    told = by_function(tensors, tensors[5:])
    assert told is not None
    places = [each.data_ptr() for each in tensors]
    counts = [each._version for each in tensors[5:]]
    words = [n.to_bytes(8, "little") for n in (*places, *counts)]
    assert told() == b"".join(words) == told()


@torch.no_grad()
@pytest.mark.parametrize("how", ["written", "moved", "in place", "storage"])
def test_it_tells_of_each_change(tensors: list[torch.Tensor], how: str) -> None:
    told = by_function(tensors, tensors)
    assert told is not None
    for each in tensors:
        before = told()
        if how == "written":
            each.copy_(each + 1)
        elif how == "moved":
            each.data = each.data.clone()
        elif how == "in place":
            each.mul_(2)
        else:
            each.set_(torch.randn(each.shape))
        assert told() != before


def test_few_tensors_others_and_no_compiler_are_asked_by_python(
    tensors: list[torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other(torch.Tensor):
        """A tensor that may answer otherwise."""

    assert by_function(tensors[:3], tensors[:3]) is None
    assert by_function([*tensors, torch.randn(3).as_subclass(Other)], []) is None
    monkeypatch.setattr(stamps, "compiled", lambda: None)
    assert by_function(tensors, []) is None


def test_tensors_are_let_go() -> None:
    """What is asked holds the tensors; their memory goes with it."""
    tensors = [torch.randn(1000) for _ in range(10)]
    count = torch._C._storage_Use_Count  # type: ignore[attr-defined]
    kept = tensors[0].untyped_storage()
    alone = count(kept._cdata)
    told = by_function(tensors, tensors)
    del tensors
    gc.collect()
    assert told is not None
    assert count(kept._cdata) == alone
    del told
    gc.collect()
    assert count(kept._cdata) == alone - 1


class Layers(torch.nn.Module):
    """More weights than Python should ask for: packed ones, and ones that calls read."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(9)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)  # type: ignore[no-any-return]


@torch.no_grad()
@pytest.mark.parametrize("rows", [3, torch.export.Dim("rows")], ids=["fixed", "open"])
def test_calls_see_each_change(rows: Any) -> None:
    model, x = Layers(), torch.randn(3, 8)
    sizes = None if rows == 3 else ({0: rows},)
    call = hidet_torch.compile(model, x, dynamic_shapes=sizes)
    torch.testing.assert_close(call(x), model(x))
    changes: list[Callable[[Any], object]] = [
        lambda each: each.weight.mul_(2),
        lambda each: each.bias.add_(1),
        lambda each: setattr(each.weight, "data", torch.randn(8, 8)),
        lambda each: setattr(each.bias, "data", torch.randn(8)),
        lambda each: setattr(each, "weight", torch.nn.Parameter(torch.randn(8, 8))),
    ]
    for number, change in enumerate(changes):
        change(model.layers[2 * number % 9])
        torch.testing.assert_close(call(x), model(x))
