"""Networks on a GPU beside PyTorch and its compiler, in turns: `python -m benchmarks.gpu`.

    python -m benchmarks.gpu resnet50 densenet121 --dtype float16
    python -m benchmarks.gpu --at-once 8           # all; eight are compiled side by side first
    python -m benchmarks.gpu --batch 32 resnet50

A network has a process of its own, in which the systems take turns call by call on the same
weights and inputs. Milliseconds are those between two events around a call, so what a call costs
the host counts; "in a row" are those of a call among twenty that follow each other. Errors are
those against float64 on the same weights. Hidet is called in two ways: behind `torch.compile`,
whose guards look at each module of the model in each call, and by `hidet_torch.compile`, which
took the model up as a whole. So many networks as `--at-once` says are compiled side by side, which
disturbs the seconds that it takes; all are compiled before the first is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.cpu import DTYPES, in_type
from benchmarks.exports import Subject
from benchmarks.measure.exported import exact, results, worst
from benchmarks.measure.libraries import set_libraries
from benchmarks.measure.machine import headline, machine
from benchmarks.measure.systems import SYSTEMS, prepare
from benchmarks.measure.table import table
from benchmarks.measure.timing import Call, event_milliseconds
from benchmarks.networks.others import OTHERS
from benchmarks.published import PUBLISHED, published

NETWORKS = (
    *("resnet50", "mobilenet_v2", "inception_v3", "vit_b16", "bert_base", "gpt2", "llama_1b"),
    *("densenet121", "vgg16", "t5_encoder", "deberta_v3", "pythia"),
    *("efficientnet_b0", "convnext_t", "swin_t", "whisper_encoder"),
    *("regnet", "segformer_b0", "dinov2", "modernbert", "electra", "qwen2"),
)
OURS = ("hidet", "hidet_torch.compile")
USUAL = ("eager in a CUDA graph", "inductor", *OURS)
IN_A_ROW = 20


@dataclass(frozen=True)
class GpuRow:
    """One system on one network: milliseconds of a call, seconds to compile, error to float64."""

    network: str
    system: str
    milliseconds: float
    least: float
    in_a_row: float
    compile_seconds: float
    error: float


def subject(name: str, dtype: str, batch: int, small: bool = False) -> Subject:
    """A network with its inputs on the CPU, the batch repeated."""
    made = published(name, small, {**PUBLISHED, **OTHERS})
    inputs = tuple(x.repeat(batch, *[1] * (x.ndim - 1)) if batch > 1 else x for x in made.inputs)
    return in_type(made._replace(inputs=inputs), DTYPES[dtype])


def on_device(made: Subject, device: str) -> Subject:
    """The network and its inputs, moved."""
    inputs = tuple(x.to(device) for x in made.inputs)
    return made._replace(model=made.model.to(device), inputs=inputs)


def ready(system: str, made: Subject) -> tuple[str, tuple[Call, float]] | None:
    """The call of a system; None, which is said, if PyTorch's own steps cannot be captured."""
    try:
        return system, prepare(system, made.model, made.inputs)
    except RuntimeError as error:
        if system != "eager in a CUDA graph" or "capture" not in str(error):
            raise
        print(f"{system}: {error}", file=sys.stderr)
        torch.cuda.synchronize()
        return None


class Prepared:
    """A network on a GPU with a call of each system, compiled."""

    def __init__(self, name: str, made: Subject, systems: Sequence[str]) -> None:
        self.name = name
        with torch.no_grad():
            expected = exact(made)
            torch.cuda.empty_cache()
            found = dict(each for s in systems if (each := ready(s, made)))
            self.errors = {s: worst(results(call()), expected) for s, (call, _) in found.items()}
        self.calls = {s: call for s, (call, _) in found.items()}
        self.compile_seconds = {s: seconds for s, (_, seconds) in found.items()}

    def measured(self, seconds: float) -> list[GpuRow]:
        """A row for each system."""
        with torch.no_grad():
            times = interleaved(self.calls, seconds)
        return [
            GpuRow(
                *(self.name, s, statistics.median(single), min(single), min(row)),
                *(self.compile_seconds[s], self.errors[s]),
            )
            for s, (single, row) in times.items()
        ]


def interleaved(
    calls: Mapping[str, Call], seconds: float, rounds: int = 5
) -> dict[str, tuple[list[float], list[float]]]:
    """Milliseconds of single calls, and of a call among `IN_A_ROW`; the systems take turns."""
    found: dict[str, tuple[list[float], list[float]]] = {s: ([], []) for s in calls}
    for call in calls.values():
        repeated(call)
    for _ in range(rounds):
        for system, call in calls.items():
            single, in_a_row = found[system]
            end = time.perf_counter() + seconds / rounds / len(calls)
            single.append(event_milliseconds(call))
            while time.perf_counter() < end:
                single.append(event_milliseconds(call))
            in_a_row.append(event_milliseconds(partial(repeated, call)) / IN_A_ROW)
    return found


def repeated(call: Call) -> None:
    """A call many times without waiting."""
    for _ in range(IN_A_ROW):
        call()


def gpu_table(rows: Sequence[GpuRow]) -> str:
    """The rows, each with how many times as long it takes as hidet."""
    ours = {row.network: row for row in rows if row.system == "hidet"}
    lines = []
    for row in rows:
        base = ours.get(row.network, row)
        cells = (row.milliseconds, row.least, row.in_a_row)
        ratios = (row.milliseconds / base.milliseconds, row.in_a_row / base.in_a_row)
        printed = [*(f"{each:.3f}" for each in cells), *(f"{each:.2f}" for each in ratios)]
        printed += [f"{row.compile_seconds:.1f}", f"{row.error:.1e}"]
        lines.append([row.network, row.system, *printed])
    headings = ("network", "system", "ms", "least", "in a row", "/ hidet", "in a row / hidet")
    return table((*headings, "compile s", "error"), lines)


def summary(rows: Sequence[GpuRow]) -> str:
    """How many times as long the best peer takes as each of our two calls."""
    lines = []
    for system in OURS:
        ours = {row.network: row for row in rows if row.system == system}
        for what, of in (("single calls", "milliseconds"), ("calls in a row", "in_a_row")):
            ratios = {
                name: min(getattr(peer, of) for peer in peers) / getattr(row, of)
                for name, row in ours.items()
                if (peers := [p for p in rows if p.network == name and p.system not in OURS])
            }
            if ratios:
                least = min(ratios, key=ratios.__getitem__)
                mean = statistics.geometric_mean(ratios.values())
                lines.append(f"- {system}, {what}: {mean:.2f}; {ratios[least]:.2f} for {least}")
    return "\n".join(["Best peer / ours, the geometric mean and the least:", "", *lines])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    asked = parse(arguments)
    if asked.inside:
        return inside(asked)
    names = asked.networks or NETWORKS
    with ThreadPoolExecutor(asked.at_once) as pool:
        started = list(pool.map(lambda name: Child(name, asked), names))
    rows = [row for child in started for row in child.rows()]
    if asked.json:
        asked.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    text = f"{headline(machine('cuda'))}\n\n{gpu_table(rows)}\n\n{summary(rows)}\n"
    print(text)
    if asked.json:
        asked.json.with_suffix(".md").write_text(text)
    return len({row.network for row in rows}) != len(names)


def parse(arguments: Sequence[str] | None) -> Any:
    """What is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("networks", nargs="*", metavar="network", help=", ".join(NETWORKS))
    parser.add_argument("--dtype", choices=DTYPES, default="float16")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=USUAL)
    parser.add_argument("--seconds", type=float, default=3.0, help="to time a network")
    parser.add_argument("--at-once", type=int, default=1, help="networks compiled side by side")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


class Child:
    """The process of a network, which has compiled it and waits."""

    def __init__(self, name: str, asked: Any) -> None:
        command = [sys.executable, "-m", "benchmarks.gpu", name, "--inside", "--dtype", asked.dtype]
        command += ["--batch", str(asked.batch), "--seconds", str(asked.seconds)]
        pipe = subprocess.PIPE
        self.name = name
        self.process = subprocess.Popen(
            [*command, "--systems", *asked.systems], stdin=pipe, stdout=pipe, text=True
        )
        ready = self.process.stdout and self.process.stdout.readline()
        print(f"{name}: {'ready' if ready else 'failed'}", flush=True)

    def rows(self) -> list[GpuRow]:
        """Let it take its times; none if it failed, which standard error tells."""
        printed, _ = self.process.communicate("\n" if self.process.poll() is None else None)
        return [GpuRow(**row) for row in json.loads(printed or "[]")]


def inside(asked: Any) -> int:
    """Compile one network, wait for a line, and print its rows as JSON."""
    name = asked.networks[0]
    set_libraries()
    printed = os.dup(1)
    os.dup2(2, 1)  # what compilers print is no row
    prepared = Prepared(
        name, on_device(subject(name, asked.dtype, asked.batch), "cuda"), asked.systems
    )
    os.write(printed, b"ready\n")
    sys.stdin.readline()
    os.write(
        printed, json.dumps([asdict(row) for row in prepared.measured(asked.seconds)]).encode()
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
