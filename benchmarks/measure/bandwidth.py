"""Bytes in a second: an operator through three systems, beside plain copies in the same run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

import hidet_torch
from benchmarks.bandwidth import Streamed
from benchmarks.measure.accuracy import reference, relative_error
from benchmarks.measure.networks import ALLOWED
from benchmarks.measure.table import number, table
from benchmarks.measure.timing import Call, in_graph, milliseconds, sample

ROTATED = 1 << 30
"""Bytes that calls go through before one returns to a tensor: many times an L2 cache."""
COPIED = 1 << 30
ITERATIONS = 4
"""How often a replay goes through all that: a launch, about 5 us, is no part of what is asked."""
ROUNDS = 15
SYSTEMS = ("eager", "inductor", "hidet")

Inputs = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class BandwidthRow:
    """Microseconds of an operator, errors against float64, and the bandwidth of plain copies."""

    operator: str
    dtype: str
    moved: int
    copied: dict[str, float]
    """1e9 bytes a second of plain copies of COPIED bytes in the same run, by who copies."""
    copy: float = math.nan
    """A copy alike: as many bytes as the operator's, in turns with it."""
    eager: float = math.nan
    inductor: float = math.nan
    hidet: float = math.nan
    eager_error: float = math.nan
    hidet_error: float = math.nan
    failure: str = ""

    @property
    def gbs(self) -> float:
        """What hidet reaches, in 1e9 bytes a second."""
        return self.moved / self.hidet / 1e3

    @property
    def copy_gbs(self) -> float:
        """What the fastest of the plain copies reaches."""
        return max(self.copied.values())

    @property
    def share(self) -> float:
        """The same as a share of what the large copy reaches."""
        return self.gbs / self.copy_gbs

    @property
    def share_alike(self) -> float:
        """The same as a share of what the copy alike reaches, which has to begin and end too."""
        return self.copy / self.hidet

    @property
    def speedup(self) -> float:
        """How many times as fast as inductor."""
        return self.inductor / self.hidet


def copies(device: str, nbytes: int = COPIED) -> dict[str, float]:
    """1e9 bytes a second that plain copies read and write together, by who copies.

    A copy by kernel goes through tensors as large as those of the rows; inductor's is compiled.
    """
    torch._dynamo.reset()
    clone = torch.compile(lambda x: x.clone(), dynamic=False)
    each = nbytes // 8
    sources = [(torch.randn(each // 4, device=device),) for _ in range(8)]
    source = torch.randn(nbytes // 4, device=device)
    target = torch.empty_like(source)
    replays = {
        "memcpy": repeated(lambda: target.copy_(source), device),
        "a kernel of PyTorch": repeated(lambda: torch.neg(source, out=target), device),
        "a kernel of inductor": rotation(clone, sources, device),
    }
    return {
        name: 2 * nbytes * ITERATIONS / milliseconds(replay, device, seconds=0.5).median / 1e6
        for name, replay in replays.items()
    }


def measure_bandwidth(
    case: Streamed,
    dtype: torch.dtype,
    device: str,
    copied: dict[str, float],
    rotated: int = ROTATED,
) -> BandwidthRow:
    """A row: the systems take turns, each on input sets and results that rotate past the caches."""
    name = str(dtype).removeprefix("torch.")
    row = BandwidthRow(case.name, name, case.moved(dtype), copied)
    module = case.build(dtype, device)
    sets = [case.inputs(dtype, device, seed) for seed in range(max(2, -(-rotated // row.moved)))]
    with torch.no_grad():
        try:
            return filled(row, module, sets, device)
        except Exception as problem:  # shown in the table; the other operators still run
            return replace(row, failure=f"{type(problem).__name__}: {problem}")


def filled(
    row: BandwidthRow, module: torch.nn.Module, sets: list[Inputs], device: str
) -> BandwidthRow:
    """The row with its numbers; an error above ALLOWED times that of eager is a failure."""
    calls = systems(module, sets[0])
    expected = reference(module, sets[0])
    errors = {name: relative_error(call(*sets[0]), expected) for name, call in calls.items()}
    del expected
    row = replace(row, eager_error=errors["eager"], hidet_error=errors["hidet"])
    replays = {name: rotation(call, sets, device) for name, call in calls.items()}
    replays["copy"] = copy_alike(row.moved, len(sets), device)
    times: dict[str, list[float]] = {name: [] for name in replays}
    for _ in range(ROUNDS):
        for name, replay in replays.items():
            times[name].append(sample(replay, device) / len(sets) / ITERATIONS * 1e3)
    medians = {name: statistics.median(values) for name, values in times.items()}
    row = replace(row, **medians)  # type: ignore[arg-type]
    if not errors["hidet"] <= ALLOWED * errors["eager"]:
        failure = f"error {errors['hidet']:.1e}, eager's is {errors['eager']:.1e}"
        return replace(row, failure=failure)
    return row


def systems(module: torch.nn.Module, inputs: Inputs) -> dict[str, Callable[..., Any]]:
    """The compared callables; kernels alone are timed, so that inductor needs no CUDA graphs."""
    torch._dynamo.reset()
    compiled = torch.compile(module, dynamic=False)
    return dict(zip(SYSTEMS, (module, compiled, hidet_torch.compile(module, *inputs)), strict=True))


def rotation(call: Callable[..., Any], sets: list[Inputs], device: str) -> Call:
    """One call for each input set, each with a result of its own."""
    kept: list[Any] = []

    def each() -> None:
        kept[:] = [call(*inputs) for inputs in sets]

    return repeated(each, device)


def copy_alike(moved: int, count: int, device: str) -> Call:
    """Copies that read and write `moved` bytes each, by the kernel of PyTorch that `copies` has."""
    sources = [(torch.randn(max(1, moved // 8), device=device),) for _ in range(count)]
    return rotation(torch.neg, sources, device)


def repeated(call: Call, device: str) -> Call:
    """ITERATIONS calls, on a GPU as a CUDA graph, warmed up."""

    def plain() -> None:
        for _ in range(ITERATIONS):
            call()

    replay = in_graph(call, ITERATIONS) if device == "cuda" else plain
    for _ in range(2):
        replay()
    return replay


def bandwidth_table(rows: Sequence[BandwidthRow]) -> str:
    """The rows as text, with geometric means at the end."""
    headings = ("operator", "MB", "copy us", "eager us", "inductor us", "hidet us", "GB/s")
    lines = [
        [
            f"{r.operator}, {r.dtype}",
            number(r.moved / 1e6, ".0f"),
            number(r.copy, ".1f"),
            number(r.eager, ".1f"),
            number(r.inductor, ".1f"),
            number(r.hidet, ".1f"),
            number(r.gbs, ".0f"),
            number(100 * r.share, ".0f", "%"),
            number(100 * r.share_alike, ".0f", "%"),
            number(r.speedup, ".2f", "x"),
            number(r.eager / r.hidet, ".2f", "x"),
            number(error_ratio(r), ".2f"),
            (r.failure.splitlines() or [""])[0],
        ]
        for r in rows
    ]
    headings += ("of a copy", "of a copy alike", "over inductor", "over eager", "error/eager's")
    form = table((*headings, "failure"), lines)
    done = [r for r in rows if not math.isnan(r.hidet)]
    if not done:
        return form
    copied = ", ".join(f"{name} {gbs:.0f}" for name, gbs in done[0].copied.items())
    return (
        f"{form}\n\nGB/s of a copy of 1 GiB by {copied}; the fastest counts. A copy alike moves as "
        "many bytes as the row does, by the kernel of PyTorch. Over inductor: "
        f"{statistics.geometric_mean(r.speedup for r in done):.3f}x in the geometric mean, "
        f"{min(r.speedup for r in done):.2f}x at least; of a copy: "
        f"{100 * min(r.share for r in done):.0f}% at least, of a copy alike "
        f"{100 * min(r.share_alike for r in done):.0f}%."
    )


def error_ratio(row: BandwidthRow) -> float:
    """Hidet's error over eager's; NaN where neither has one."""
    return row.hidet_error / row.eager_error if row.eager_error else math.nan
