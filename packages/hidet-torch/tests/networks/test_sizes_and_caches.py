"""Sizes that only a call tells, and caches that are written in place, through torch.compile."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from compiling import close, compiled

from hidet.frontend.running.execute import prepare_runner
from hidet_torch.calling import run


@torch.no_grad()
def test_slices_of_symbolic_sizes() -> None:
    function = lambda x: (x[:, 1:-1] * 2, x[:, -3:] + 1, x[:, ::2] + 0)
    fast = compiled(function, dynamic=True)
    for columns in (5, 9, 12):
        x = torch.randn(2, columns)
        for a, b in zip(fast(x), function(x), strict=True):
            close(a, b)


NUMBERS_OF_SIZES: dict[str, Callable[..., Any]] = {
    "times": lambda x: x * x.shape[0],
    "of integers": lambda x: torch.arange(4) + x.shape[0],
    "of halves": lambda x: x.half() + x.shape[0] * 3,
    "filled": lambda x: torch.full((x.shape[0],), x.shape[0]),
    "filled as float": lambda x: torch.full((3,), x.shape[0], dtype=torch.float32),
    "range": lambda x: torch.arange(x.shape[0], 2 * x.shape[0] + 1),
    "range with steps": lambda x: torch.arange(0, 5 * x.shape[0], x.shape[0]),
    "true division": lambda x: x * (1 / x.shape[0]),
    "divided": lambda x: x.sum(0) / x.shape[0],
    "divided integers": lambda x: torch.arange(9) // x.shape[0],
    "root": lambda x: x / math.sqrt(x.shape[0]),
    "mean of integers": lambda x: x.long().sum(0) * (x.shape[0] / 2),
    "masked": lambda x: x.masked_fill(x > 0, x.shape[0]),
    "where": lambda x: torch.where(x > 0, x, x.shape[0]),
    "clamped": lambda x: x.clamp(max=x.shape[0] / 10),
    "compared": lambda x: torch.arange(9) < x.shape[0],
    "alpha": lambda x: torch.add(x, x, alpha=x.shape[0]),
    "positions": lambda x: (torch.arange(x.shape[0]) + x.shape[1])[None] % x.shape[0],
    "tensor": lambda x: x + torch.scalar_tensor(x.shape[0]),
    "cube": lambda x: torch.arange(3) * x.shape[0] ** 3,
}


@torch.no_grad()
@pytest.mark.parametrize("name", NUMBERS_OF_SIZES)
def test_sizes_as_numbers(name: str) -> None:
    function = NUMBERS_OF_SIZES[name]
    fast = compiled(function, dynamic=True, options={"fallback": "error"})
    for rows in (3, 7, 2000):
        x = torch.randn(rows, 4)
        found, expected = fast(x), function(x)
        assert found.dtype is expected.dtype
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


@torch.no_grad()
@pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
def test_sizes_as_numbers_of_what_runs_in_pytorch() -> None:
    function = lambda x: torch.cdist(x * 2, x, p=float(x.shape[0])) + x.shape[0] / 4
    fast = compiled(function, dynamic=True)
    for rows in (3, 5):
        x = torch.randn(rows, 4)
        close(fast(x), function(x))


@torch.no_grad()
@pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
@pytest.mark.parametrize("dynamic", [False, True])
def test_what_runs_in_pytorch_between_changes_of_shape(dynamic: bool) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.logcumsumexp((x + 1).view(-1, 4), 1)
        return (
            y.view(2, -1),
            torch.logcumsumexp(x.view(2, -1), 1),
            torch.logcumsumexp(y.view(-1), 0).view(4, -1) * 2,
        )

    fast = compiled(function, dynamic=dynamic)
    for rows in (3, 5):
        x = torch.randn(2, rows, 4)
        for a, b in zip(fast(x), function(x), strict=True):
            close(a, b)


def index_copied(cache: torch.Tensor, new: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    cache.index_copy_(1, at, new)
    return cache.sum((0, 2)) + 1


def index_put(cache: torch.Tensor, new: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    cache[:, at] = new * 2
    return cache @ cache.transpose(1, 2)


def slice_written(cache: torch.Tensor, new: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    cache[:, 2:4] = new
    return cache.relu()


def written_twice(cache: torch.Tensor, new: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    cache.index_copy_(1, at, new)
    cache.index_copy_(1, at + 2, new + 1)
    return cache.reshape(-1) * 2


def added_to(cache: torch.Tensor, new: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    cache.index_add_(1, at, new)
    return new + 1


def read_before(cache: torch.Tensor, new: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    before = cache.sum()
    cache.index_copy_(1, at, new)
    return cache * before


IN_PLACE = {index_copied: True, index_put: True, slice_written: True, written_twice: True,
            added_to: True, read_before: False}  # fmt: skip


def cache_like(kind: str) -> torch.Tensor:
    """A cache of 2 x 7 x 4 that lies in one way or another."""
    if kind == "transposed":
        return torch.randn(2, 4, 7).transpose(1, 2)
    if kind == "strided":
        return torch.randn(2, 7, 8)[..., ::2]
    return torch.randn(57)[1:].view(2, 7, 4) if kind == "misaligned" else torch.randn(2, 7, 4)


@torch.no_grad()
@pytest.mark.parametrize("kind", ["plain", "transposed", "strided", "misaligned"])
@pytest.mark.parametrize("function", IN_PLACE)
def test_caches_are_updated(function: Callable[..., Any], kind: str) -> None:
    cache = cache_like(kind)
    twin, fast = cache.clone(), compiled(function)
    for first in (0, 3):
        new, at = torch.randn(2, 2, 4), torch.tensor([first, first + 1])
        close(fast(cache, new, at), function(twin, new, at))
        close(cache, twin)


def outputs_of(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many elements each tensor has that a call's plan makes anew, other than scratch."""
    plans: list[Any] = []

    def prepare(*given: Any, **options: Any) -> Any:
        runner = prepare_runner(*given, **options)
        plans.append(runner.executor.archive.main)
        return runner

    monkeypatch.setattr(run, "prepare_runner", prepare)
    compiled(function)(torch.randn(2, 700, 4), torch.randn(2, 2, 4), torch.tensor([4, 5]))
    (plan,) = plans
    made = [each for each in plan.buffers if each.role in ("output", "workspace")]
    return sorted(math.prod(each.shape) for each in made)


@torch.no_grad()
def test_an_updated_cache_is_not_written_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outputs_of(added_to, monkeypatch) == [16]
    assert outputs_of(index_copied, monkeypatch) == [700]
    assert outputs_of(read_before, monkeypatch).count(5600) == 2


@torch.no_grad()
def test_an_updated_cache_that_is_copied_elsewhere() -> None:
    def function(cache: torch.Tensor, other: torch.Tensor, at: torch.Tensor) -> Any:
        cache.index_copy_(1, at, torch.ones(2, 2, 4))
        other.copy_(cache)
        return cache.clone(), cache, cache.view(-1, 2)

    cache, other, at = torch.randn(2, 7, 4), torch.randn(2, 7, 4), torch.tensor([1, 4])
    own, twin = cache.clone(), other.clone()
    found, expected = compiled(function)(cache, other, at), function(own, twin, at)
    for a, b in zip((*found, cache, other), (*expected, own, twin), strict=True):
        close(a, b)
    cache.zero_()
    assert found[0].any()
    assert other.any()
    assert not found[1].any()
    assert not found[2].any()
