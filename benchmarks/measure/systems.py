"""The systems that are compared: each makes a call out of a model and its inputs."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

import hidet_torch
from benchmarks.measure.libraries import in_best_layout
from benchmarks.measure.timing import Call, in_graph

Inputs = tuple[torch.Tensor, ...]
System = Callable[[Callable[..., Any], Inputs], Call]


def eager(model: Callable[..., Any], inputs: Inputs) -> Call:
    """PyTorch as it is."""
    return lambda: model(*inputs)


def eager_graph(model: Callable[..., Any], inputs: Inputs) -> Call:
    """PyTorch's kernels in one CUDA graph; the replay's output is that of the capture."""
    model, inputs = in_best_layout(model, inputs)
    kept: list[Any] = []

    def call() -> None:
        kept[:] = [model(*inputs)]

    replay = in_graph(call)

    def replayed() -> Any:
        replay()
        return kept[0]

    return replayed


def inductor(model: Callable[..., Any], inputs: Inputs) -> Call:
    """PyTorch's compiler, at its best without tuning: CUDA graphs on a GPU, frozen weights else."""
    model, inputs = in_best_layout(model, inputs)
    if inputs[0].is_cuda:
        compiled = torch.compile(model, mode="reduce-overhead")
    else:
        compiled = torch.compile(model, options={"freezing": True})
    return lambda: compiled(*inputs)


def inductor_tuned(model: Callable[..., Any], inputs: Inputs) -> Call:
    """PyTorch's compiler, trying kernels for minutes."""
    model, inputs = in_best_layout(model, inputs)
    compiled = torch.compile(model, mode="max-autotune")
    return lambda: compiled(*inputs)


def hidet(model: Callable[..., Any], inputs: Inputs) -> Call:
    """Hidet behind torch.compile, guards and all."""
    compiled = torch.compile(model, backend="hidet")
    return lambda: compiled(*inputs)


def hidet_tuned(model: Callable[..., Any], inputs: Inputs) -> Call:
    """Hidet trying all schedules of each operator."""
    compiled = torch.compile(model, backend="hidet", mode="max-autotune")
    return lambda: compiled(*inputs)


def hidet_direct(model: Callable[..., Any], inputs: Inputs) -> Call:
    """Hidet through torch.export, without Dynamo's guards."""
    compiled = hidet_torch.compile(model, *inputs)
    return lambda: compiled(*inputs)


def nothing(model: Callable[..., Any], inputs: Inputs) -> Call:
    """Dynamo and AOTAutograd before a compiler that does nothing: what every backend pays."""
    traced = torch.compile(model, backend="aot_eager")
    return lambda: traced(*inputs)


TRACING = "tracing alone"
SYSTEMS: dict[str, System] = {
    "eager": eager,
    "eager in a CUDA graph": eager_graph,
    TRACING: nothing,
    "inductor": inductor,
    "inductor max-autotune": inductor_tuned,
    "hidet": hidet,
    "hidet max-autotune": hidet_tuned,
    "hidet_torch.compile": hidet_direct,
}


def usual(device: str) -> tuple[str, ...]:
    """What is compared unless something else is asked for; first what shall not lack time."""
    graph = ("eager in a CUDA graph",) if device == "cuda" else ()
    return ("eager", *graph, "hidet", TRACING, "inductor")


def prepare(
    system: str, model: Callable[..., Any], inputs: Inputs, *, reset: bool = True
) -> tuple[Call, float]:
    """The call, and the seconds from asking for it to its first result.

    With `reset` what torch.compile made before is forgotten, the calls of other systems too.
    """
    if reset:
        torch._dynamo.reset()
    start = time.perf_counter()
    call = SYSTEMS[system](model, inputs)
    call()
    return call, time.perf_counter() - start


def stop_compiling() -> None:
    """Drop what inductor's threads have not begun, and wait for what they have.

    They compile on when the thread that asked has given up, beside what is measured next.
    """
    from torch._inductor.async_compile import AsyncCompile  # noqa: PLC0415  # takes a second

    if AsyncCompile.pool.cache_info().currsize:
        AsyncCompile.pool().shutdown(cancel_futures=True)
        AsyncCompile.pool.cache_clear()


@contextmanager
def empty_caches() -> Iterator[None]:
    """In this block no compiler finds what it compiled before, and nothing is left behind."""
    names = ("HIDET_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
    before = {name: os.environ.get(name) for name in names}
    with tempfile.TemporaryDirectory(prefix="hidet-benchmark-", ignore_cleanup_errors=True) as path:
        os.environ.update({name: os.path.join(path, name.lower()) for name in names})
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
