"""Graphs made at random, computed fused and unfused, compared with float64.

    python -m ci.fuzz --count 2000 --target cpu

prints totals, and for each graph that is computed wrongly its number, what is wrong, and the
smallest graph found that fails in the same way. Graph number N is always the same:
`--seed N --count 1` tries it again. Graphs are compiled several at a time, in processes of their
own (`python -m hidet.testing.fuzz`), so that one that ends its process takes few others with it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from ci.gpus import Lanes

TARGETS = ("cpu", "sim", "cuda")


@dataclass(frozen=True)
class Failure:
    """A graph that was computed wrongly, and the smallest that fails in the same way."""

    seed: int
    kind: str
    problem: str
    graph: str


@dataclass
class Tried:
    """How many graphs were tried, what failed, and how many have what."""

    graphs: int = 0
    failures: list[Failure] = field(default_factory=list)
    features: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Tried) -> Tried:
        features = self.features + other.features
        return Tried(self.graphs + other.graphs, self.failures + other.failures, features)

    def __str__(self) -> str:
        having = "".join(f", {n} with {name}" for name, n in sorted(self.features.items()))
        return f"{self.graphs} graphs{having}: {len(self.failures)} wrong"


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the graphs asked for; 1 if one failed."""
    given = parse(arguments)
    seeds = range(given.seed, given.seed + given.count)
    command = [
        sys.executable, "-m", "hidet.testing.fuzz", "--target", given.target,
        "--batch", str(given.batch), *(["--regions"] if given.regions else []),
    ]  # fmt: skip
    lanes = Lanes(given.processes, None if given.target == "cuda" else [])
    start = time.monotonic()

    def run(chunk: range) -> Tried:
        """What became of some graphs, said as soon as it is known; nothing after the time."""
        if time.monotonic() - start > given.seconds:
            return Tried()
        with lanes.one() as place:
            found = apart(chunk, command, place)
        for each in found.failures:
            print(f"graph {each.seed}: {each.kind}: {each.problem}\n{each.graph}\n", flush=True)
        if given.verbose:
            print(f"from {chunk.start}: {found}", flush=True)
        return found

    chunks = [seeds[at : at + given.chunk] for at in range(0, len(seeds), given.chunk)]
    with ThreadPoolExecutor(lanes.count) as pool:
        whole = sum(pool.map(run, chunks), Tried())
    seconds = time.monotonic() - start
    print(f"on {given.target}, fused and unfused, {whole}, {seconds:.0f} s")
    return 1 if whole.failures or not whole.graphs else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=100, help="how many graphs")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--target", choices=TARGETS, default="cpu")
    parser.add_argument("--regions", action="store_true", help="control flow in each graph")
    parser.add_argument("--batch", type=int, default=8, help="graphs in one compilation")
    parser.add_argument("--chunk", type=int, default=64, help="graphs in one process")
    parser.add_argument("--processes", type=int, default=1, help="at a time, on each GPU")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none after")
    parser.add_argument("--verbose", action="store_true", help="say what became of each process")
    return parser.parse_args(arguments)


def apart(chunk: range, command: Sequence[str], place: Mapping[str, str]) -> Tried:
    """What became of some graphs, tried by a command in a process of its own."""
    graphs = ["--seed", str(chunk.start), "--count", str(len(chunk))]
    single = {"HIDET_JOBS": "1", "HIDET_WORKERS": "1", "OMP_NUM_THREADS": "2"}
    variables = {**os.environ, **single, **place}
    ended = subprocess.run([*command, *graphs], capture_output=True, text=True, env=variables)
    if ended.returncode == 0:
        report = json.loads(ended.stdout.splitlines()[-1])
        failures = [Failure(**each) for each in report["failures"]]
        return Tried(len(chunk), failures, Counter(report["features"]))
    if len(chunk) > 1:
        halves = chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :]
        return sum((apart(half, command, place) for half in halves), Tried())
    return Tried(1, [Failure(chunk.start, "process ended", ended.stderr[-2000:], "")])


if __name__ == "__main__":
    sys.exit(main())
