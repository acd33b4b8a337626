"""Captures by `torch.cuda.graph` beside compiled models that come, work and go."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import pytest
import torch
from torch import nn

import hidet_torch

pytestmark = pytest.mark.gpu
MODES = ("global", "thread_local", "relaxed")
Work = Callable[[], object]


def compiled() -> tuple[list[object], torch.Tensor]:
    """A compiled model that has run, known by nothing but a list that knows itself; its result."""
    model = nn.Sequential(nn.Linear(64, 129), nn.Tanh(), nn.Linear(129, 7)).cuda().eval()
    x = torch.randn(5, 64, device="cuda")
    call = hidet_torch.compile(model, x)
    kept: list[object] = [call]
    kept.append(kept)
    return kept, call(x)


def capture(mode: str, others: Work) -> None:
    """A sum is captured, `others` happens in it, and the graph gives the sum of what is there."""
    x = torch.ones(1000, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode=mode):
        y = x + 1
        others()
        y = y + x
    x.fill_(3)
    graph.replay()
    assert torch.equal(y, torch.full_like(x, 7))


def here(work: Work) -> None:
    work()


def there(work: Work) -> None:
    """In a thread of its own, waiting for it."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.mark.parametrize("where", [here, there])
@pytest.mark.parametrize("mode", MODES)
@torch.no_grad()
def test_a_model_that_goes_in_a_capture_does_not_end_it(
    mode: str, where: Callable[[Work], None]
) -> None:
    kept, _ = compiled()
    torch.cuda.synchronize()

    def collected() -> None:
        kept.clear()
        gc.collect()

    capture(mode, lambda: where(collected))


@pytest.mark.parametrize("mode", MODES)
@torch.no_grad()
def test_a_model_that_another_thread_calls_in_a_capture_does_not_end_it(mode: str) -> None:
    """On a stream for which PyTorch has memory: it takes none of the driver beside a capture."""
    model = nn.Sequential(nn.Linear(64, 129), nn.Tanh(), nn.Linear(129, 7)).cuda().eval()
    x, stream = torch.randn(5, 64, device="cuda"), torch.cuda.Stream()
    call = hidet_torch.compile(model, x)
    found: list[torch.Tensor] = []

    def compute() -> None:
        with torch.no_grad(), torch.cuda.stream(stream):
            found.append(call(x))

    with torch.cuda.stream(stream):
        expected = [call(x) for _ in range(3)].pop()
    torch.cuda.synchronize()
    capture(mode, lambda: there(compute))
    torch.cuda.synchronize()
    assert torch.equal(found[0], expected)
