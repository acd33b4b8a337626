"""Captures by `torch.cuda.graph` beside compiled models that come, work and go."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import hidet
import hidet_torch
from hidet.errors import Capturing
from hidet.runtime import executor

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


def derived() -> tuple[nn.Module, torch.Tensor, Any]:
    """A model of whose weights something is made, which is in float16; and its compiled call."""
    model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 8)).cuda().eval()
    x = torch.randn(5, 64, device="cuda")
    call = hidet_torch.compile(model, x, use_fp16=True)
    assert call.run.runner.sources  # else there is nothing to test
    return model, x, call


def close(found: torch.Tensor, model: nn.Module, x: torch.Tensor) -> bool:
    """Whether a result is the model's, in float16."""
    torch.testing.assert_close(found, model(x), rtol=2e-2, atol=2e-2)
    return True


@pytest.mark.parametrize("where", [here, there])
@pytest.mark.parametrize("mode", MODES)
@torch.no_grad()
def test_what_is_made_of_weights_is_made_again_beside_a_capture(
    mode: str, where: Callable[[Work], None]
) -> None:
    """Before, that waited for the whole context, and every capture ended."""
    model, x, call = derived()
    stream, found = torch.cuda.Stream(), []
    with torch.cuda.stream(stream):
        call(x)
    for parameter in model.parameters():
        parameter.mul_(1.5)
    torch.cuda.synchronize()

    def compute() -> None:
        with torch.no_grad(), torch.cuda.stream(stream):
            found.append(call(x))

    capture(mode, lambda: where(compute))
    torch.cuda.synchronize()
    assert close(found[0], model, x)


@pytest.mark.parametrize("mode", MODES)
@torch.no_grad()
def test_weights_that_changed_are_told_of_within_a_capture(mode: str) -> None:
    """The capture holds, before and after the refusal; so do later calls."""
    model, x, call = derived()
    call(x)
    for parameter in model.parameters():
        parameter.mul_(1.5)

    def refused() -> None:
        for _ in range(2):
            with pytest.raises(Capturing, match="cannot be made"):
                call(x)

    capture(mode, refused)
    assert close(call(x), model, x)
    found = []
    capture(mode, lambda: found.append(call(x)))


@pytest.mark.parametrize("mode", MODES)
@torch.no_grad()
def test_the_first_call_with_a_shape_may_be_captured(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs of other shapes are let go at once."""
    monkeypatch.setattr(executor, "SHAPES_KEPT", 1)
    model = nn.Sequential(nn.Linear(64, 129), nn.Tanh(), nn.Linear(129, 7)).cuda().eval()
    rows = torch.export.Dim("rows", max=1000)
    call = hidet_torch.compile(
        model, torch.randn(5, 64, device="cuda"), dynamic_shapes=({0: rows},)
    )
    call(torch.randn(2, 64, device="cuda"))
    given = [torch.zeros(count, 64, device="cuda") for count in (3, 7, 129)]
    graph, found = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph, capture_error_mode=mode):
        for each in given:
            found.append(call(each))
            gc.collect()
    for each in given:
        each.normal_()
    graph.replay()
    for each, result in zip(given, found, strict=True):
        torch.testing.assert_close(result, model(each), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("mode", MODES)
@torch.no_grad()
def test_a_file_may_be_run_for_the_first_time_in_a_capture(mode: str, tmp_path: Path) -> None:
    """It is loaded then, and what its kernels want of the weights is made beside the capture."""
    model, x, call = derived()
    call.save(tmp_path / "model.hidet")
    loaded = hidet.load(tmp_path / "model.hidet", "cuda")
    graph = torch.cuda.CUDAGraph()
    given = torch.zeros_like(x)
    with torch.cuda.graph(graph, capture_error_mode=mode):
        found = loaded(given)
    given.copy_(x)
    graph.replay()
    assert close(found.torch(), model, x)


class Partly(nn.Module):
    """A model of which PyTorch runs a part."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(torch.special.bessel_j0(torch.relu(x)) + x)


@pytest.mark.parametrize("mode", MODES)
@torch.no_grad()
def test_a_failure_in_a_captured_call_does_not_end_the_capture(mode: str) -> None:
    """In the part that PyTorch runs, after kernels that were captured."""
    x = torch.randn(5, 64, device="cuda")
    with pytest.warns(UserWarning, match="bessel_j0"):
        call = hidet_torch.compile(Partly(), x)
    expected = call(x)
    steps = call.run.runner.executor.host_steps
    ((key, step),) = steps.items()

    def failing(reads: object, writes: object) -> None:
        raise OSError("mine")

    given, graph = torch.zeros_like(x), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode=mode):
        steps[key] = failing
        with pytest.raises(OSError, match="mine"):
            call(given)
        steps[key] = step
        found = call(given)
    given.copy_(x)
    graph.replay()
    assert torch.equal(found, expected)
    assert torch.equal(call(x), expected)


@pytest.mark.parametrize("mode", MODES)
@torch.no_grad()
def test_two_threads_call_while_a_third_captures(mode: str) -> None:
    """PyTorch itself must not take memory meanwhile, so that it has some for each result."""
    _, x, call = derived()
    streams = [torch.cuda.Stream() for _ in range(2)]
    expected = call(x)
    for stream in streams:
        with torch.cuda.stream(stream):
            kept = [call(x) for _ in range(30)]
            del kept
    torch.cuda.synchronize()
    found: list[torch.Tensor] = []

    def compute(stream: torch.cuda.Stream) -> None:
        with torch.no_grad(), torch.cuda.stream(stream):
            found.extend([call(x) for _ in range(20)])

    def compute_all() -> None:
        threads = [threading.Thread(target=compute, args=(each,)) for each in streams]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    capture(mode, compute_all)
    torch.cuda.synchronize()
    assert len(found) == 40
    assert all(torch.equal(each, expected) for each in found)


@pytest.mark.parametrize("mode", MODES)
@torch.no_grad()
def test_compiling_in_a_capture_works_where_nothing_is_made_of_weights(mode: str) -> None:
    """Kernels are compiled and loaded beside it; what would have to run is refused."""
    model, norm, x = nn.Linear(64, 8).cuda(), nn.LayerNorm(64).cuda(), torch.zeros(5, 64).cuda()
    norm(torch.tanh(model.weight @ x.t()).sum() + x)  # PyTorch has loaded what it needs
    found, graph = [], torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode=mode):
        found.append(hidet_torch.compile(norm, x)(x))
        with pytest.raises(Capturing):
            hidet_torch.compile(model, x, use_fp16=True)
    x.normal_()
    graph.replay()
    torch.testing.assert_close(found[0], norm(x), rtol=1e-4, atol=1e-5)


class Twice(nn.Module):
    """What writes the operand of a product."""

    def forward(self, w: torch.Tensor) -> torch.Tensor:
        return w + w


class Product(nn.Module):
    """Its second operand is taken for a weight."""

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(x, w)


@torch.no_grad()
def test_what_another_model_writes_is_there_before_a_product_reads_it_ahead() -> None:
    x, w = (torch.randn(n, 4096, device="cuda", dtype=torch.float16) / 64 for n in (256, 2048))
    twice = hidet_torch.compile(Twice(), w)
    product = hidet_torch.compile(Product(), x, w)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = product(x, twice(w))
    for _ in range(20):
        w.normal_(0, 1 / 64)
        graph.replay()
        exact = x.float() @ (2 * w.float()).T
        torch.testing.assert_close(captured.float(), exact, atol=1e-3, rtol=4e-3)
        called = product(x, twice(w))
        assert torch.equal(called, captured)
