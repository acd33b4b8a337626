"""Graphs made at random, computed fused and unfused, compared with float64.

    python -m ci.fuzz --count 2000 --target cpu

prints totals, and for each graph that is computed wrongly its number, what is wrong, and the
smallest graph found that fails in the same way. Graph number N is always the same:
`--seed N --count 1` tries it again. Graphs are compiled several at a time, in processes of their
own, so that one that ends its process takes few others with it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from hidet.graph import FlowGraph
from hidet.testing.fuzz import Case, Verdict, judged, random_case, shrunk

TARGETS = {"cpu": ("", "cpu"), "sim": ("sim", "cpu"), "cuda": ("", "cuda")}
"""The compiler's target and the device of the tensors."""
LARGEST = {"cpu": 4096, "sim": 1024, "cuda": 1 << 16}


@dataclass(frozen=True)
class Failure:
    """A graph that was computed wrongly, and the smallest that fails in the same way."""

    seed: int
    kind: str
    problem: str
    graph: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the graphs asked for; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=100, help="how many graphs")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--target", choices=TARGETS, default="cpu")
    parser.add_argument("--batch", type=int, default=8, help="graphs in one compilation")
    parser.add_argument("--chunk", type=int, default=64, help="graphs in one process")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none after")
    parser.add_argument("--here", action="store_true", help="in this process; prints JSON")
    given = parser.parse_args(arguments)
    seeds = range(given.seed, given.seed + given.count)
    if given.here:
        print(json.dumps([asdict(each) for each in tried(seeds, given.target, given.batch)]))
        return 0
    start = time.monotonic()
    with ThreadPoolExecutor(given.processes) as pool:
        chunks = [seeds[at : at + given.chunk] for at in range(0, len(seeds), given.chunk)]
        late = lambda: time.monotonic() - start > given.seconds  # noqa: E731
        run = lambda chunk: None if late() else apart(chunk, given.target, given.batch)  # noqa: E731
        results = list(zip(chunks, pool.map(shown(run), chunks), strict=True))
    done = sum(len(chunk) for chunk, found in results if found is not None)
    failures = [failure for _, found in results if found for failure in found]
    wrong, seconds = len(failures), time.monotonic() - start
    print(f"{done} graphs on {given.target}, fused and unfused: {wrong} wrong, {seconds:.0f} s")
    return 1 if failures or not done else 0


def shown(run):  # type: ignore[no-untyped-def]
    """`run`, printing failures as soon as they are there."""

    def running(chunk: range) -> list[Failure] | None:
        found = run(chunk)
        for each in found or ():
            print(f"graph {each.seed}: {each.kind}: {each.problem}\n{each.graph}\n", flush=True)
        return found  # type: ignore[no-any-return]

    return running


def apart(chunk: range, target: str, batch: int) -> list[Failure]:
    """The failures of some graphs, tried in a process of their own."""
    command = [
        sys.executable, "-m", "ci.fuzz", "--here", "--seed", str(chunk.start),
        "--count", str(len(chunk)), "--target", target, "--batch", str(batch),
    ]  # fmt: skip
    single = {"HIDET_JOBS": "1", "HIDET_WORKERS": "1", "OMP_NUM_THREADS": "2"}
    ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | single)
    if ended.returncode == 0:
        return [Failure(**each) for each in json.loads(ended.stdout.splitlines()[-1])]
    if len(chunk) > 1:
        halves = chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :]
        return [each for half in halves for each in apart(half, target, batch)]
    return [Failure(chunk.start, "process ended", ended.stderr[-2000:], "")]


def tried(seeds: Sequence[int], target: str, batch: int) -> Iterator[Failure]:
    """The failures of these graphs, each made small."""
    compiler, device = TARGETS[target]
    for at in range(0, len(seeds), batch):
        cases = [random_case(seed, device, LARGEST[target]) for seed in seeds[at : at + batch]]
        for verdict in judged(cases, compiler):
            if verdict.kind:
                found = shrunk(verdict, lambda case: judged([case], compiler)[0])
                yield Failure(verdict.case.seed, found.kind, found.problem, described(found))


def described(verdict: Verdict) -> str:
    """A graph as text, with the shapes of its inputs in each call."""
    case: Case = verdict.case
    graph: FlowGraph = case.graph
    shapes = [", ".join(str(array.shape) for array in call) for call in case.calls]
    return "\n".join([str(graph), *(f"called with {each}" for each in shapes)])


if __name__ == "__main__":
    sys.exit(main())
