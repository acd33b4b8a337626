"""The next token of a text: one step of a language model over a cache of fixed length."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn
from transformers import StaticCache

from benchmarks.measure.accuracy import reference, relative_error
from benchmarks.measure.counts import kernels
from benchmarks.measure.memory import tensors_of
from benchmarks.measure.networks import ALLOWED
from benchmarks.measure.systems import empty_caches
from benchmarks.measure.table import number, table
from benchmarks.measure.timing import Call, in_graph, synchronize, warm_up
from benchmarks.networks.language import DECODERS

READ = 16
"""Tokens of the text that are in the cache already."""
STEPS = 10
"""Steps that follow each other without the host waiting for one."""
RATE = 4.2e12
"""Bytes a second at which an H200 reads weights."""

Compiler = Callable[[nn.Module], Callable[..., Any]]
COMPILERS: dict[str, Compiler] = {
    "eager": lambda model: model,
    "eager in a CUDA graph": lambda model: model,
    "inductor": torch.compile,
    "inductor, CUDA graphs": lambda model: torch.compile(model, mode="reduce-overhead"),
    "hidet": lambda model: torch.compile(model, backend="hidet"),
}
"""How a model becomes what is called."""


@dataclass(frozen=True)
class DecodeRow:
    """Milliseconds of a step of one system; NaN and None: not measured."""

    network: str
    batch: int
    cache: int
    dtype: str
    device: str
    system: str
    milliseconds: float = math.nan
    bound: float = math.nan
    """How long it takes to read each weight once, on an H200."""
    host_us: float = math.nan
    """How long a step keeps the host busy."""
    error: float = math.nan
    kernels: int | None = None
    compile_seconds: float = math.nan
    failure: str = ""


class Text:
    """Texts of random tokens, the first few of which a model has read."""

    def __init__(self, model: nn.Module, batch: int, cache: int, device: str) -> None:
        self.model = model
        vocabulary = model.config.vocab_size
        self.tokens = torch.randint(vocabulary, (batch, READ + 1), device=device)
        self.last = self.tokens[:, READ:].contiguous()
        self.cache = StaticCache(config=model.config, max_cache_len=cache)
        model(self.tokens[:, :READ], past_key_values=self.cache)

    def step(self, called: Callable[..., Any]) -> torch.Tensor:
        """What may follow the last token: logits."""
        found: torch.Tensor = called(self.last, past_key_values=self.cache)[0]
        return found

    def rewind(self) -> None:
        """Forget the steps that were taken."""
        for layer in self.cache.layers:
            layer.cumulative_length.fill_(READ)

    def expected(self) -> torch.Tensor:
        """The logits of the first step in float64, without a cache."""
        return reference(self.model, (self.tokens,))[:, READ:]


def measure_decoding(
    name: str,
    systems: Sequence[str],
    dtype: torch.dtype,
    device: str,
    batch: int,
    cache: int,
) -> Iterator[DecodeRow]:
    """A row per system, all on the same weights; one that is wrong fails, as networks do."""
    with torch.random.fork_rng(), torch.device(device), torch.no_grad():
        torch.manual_seed(0)
        model = DECODERS[name](cache).eval().requires_grad_(False).to(dtype)
        text = Text(model, batch, cache, device)
        expected = text.expected()
    floor = math.nan
    row = DecodeRow(name, batch, cache, str(dtype).removeprefix("torch."), device, "")
    if device == "cuda":
        nbytes = sum({each.data_ptr(): each.nbytes for each in tensors_of(model)}.values())
        row = replace(row, bound=nbytes / RATE * 1e3)
    for system in systems:
        torch._dynamo.reset()
        with empty_caches(), torch.no_grad():
            try:
                found = measured(replace(row, system=system), text, expected)
            except Exception as problem:  # shown in the table; the other systems still run
                found = replace(row, system=system, failure=f"{type(problem).__name__}: {problem}")
        floor = found.error if math.isnan(floor) else floor
        wrong = not found.failure and not found.error <= ALLOWED * floor
        yield replace(found, failure=f"error, first system's is {floor:.1e}") if wrong else found


def measured(row: DecodeRow, text: Text, expected: torch.Tensor) -> DecodeRow:
    """The row with its numbers."""
    start = time.perf_counter()
    called = COMPILERS[row.system](text.model)
    text.rewind()
    error = relative_error(text.step(called), expected)
    if not row.system.startswith("eager"):
        row = replace(row, compile_seconds=time.perf_counter() - start)
    step: Call = lambda: text.step(called)  # noqa: E731
    if row.system.endswith("eager in a CUDA graph"):
        text.rewind()
        step = in_graph(step)
    times, host = timed(step, text, row.device)
    row = replace(row, error=error, milliseconds=times, host_us=host)
    text.rewind()
    return replace(row, kernels=kernels(step)) if row.device == "cuda" else row


def timed(step: Call, text: Text, device: str, seconds: float = 0.5) -> tuple[float, float]:
    """Milliseconds of a step among others, and microseconds that it keeps the host busy."""
    text.rewind()
    warm_up(step, device)
    times, hosts = [], []
    end = time.perf_counter() + seconds
    while len(times) < 7 or time.perf_counter() < end:
        text.rewind()
        synchronize(device)
        start = time.perf_counter()
        for _ in range(STEPS):
            step()
        hosts.append(time.perf_counter() - start)
        synchronize(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times) / STEPS * 1e3, statistics.median(hosts) / STEPS * 1e6


def decode_table(rows: Sequence[DecodeRow]) -> str:
    """The rows as text."""
    headings = ("network", "cache", "system", "ms", "weights alone ms", "host us", "error",
                "kernels", "compile s", "failure")  # fmt: skip
    lines = [
        [
            f"{row.network}, {row.dtype}, batch {row.batch}",
            str(row.cache),
            row.system,
            number(row.milliseconds, ".3f" if row.device == "cuda" else ".1f"),
            number(row.bound, ".3f"),
            number(row.host_us, ".0f"),
            number(row.error, ".1e"),
            number(row.kernels),
            number(row.compile_seconds, ".1f"),
            (row.failure.splitlines() or [""])[0],
        ]
        for row in rows
    ]
    return table(headings, lines)
