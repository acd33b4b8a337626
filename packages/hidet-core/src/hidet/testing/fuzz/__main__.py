"""Tries graphs in this process and prints the failures as JSON: what `ci/fuzz.py` starts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence

from hidet.testing.fuzz import Verdict, judged, random_case, shrunk

TARGETS = {"cpu": ("", "cpu"), "sim": ("sim", "cpu"), "cuda": ("", "cuda")}
"""The compiler's target and the device of the tensors."""
LARGEST = {"cpu": 4096, "sim": 1024, "cuda": 1 << 16}
"""The most elements of a tensor."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a list of failures; each has the keys seed, kind, problem, graph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1, help="how many graphs")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--target", choices=TARGETS, default="cpu")
    parser.add_argument("--batch", type=int, default=8, help="graphs in one compilation")
    parser.add_argument("--regions", action="store_true", help="control flow in each graph")
    given = parser.parse_args(arguments)
    seeds = range(given.seed, given.seed + given.count)
    print(json.dumps(list(failures(seeds, given.target, given.batch, given.regions))))
    return 0


def failures(
    seeds: Sequence[int], target: str, batch: int, regions: bool
) -> Iterator[dict[str, object]]:
    """The failures of these graphs, each made small."""
    compiler, device = TARGETS[target]
    for at in range(0, len(seeds), batch):
        some = seeds[at : at + batch]
        cases = [random_case(each, device, LARGEST[target], regions=regions) for each in some]
        for verdict in judged(cases, compiler):
            if verdict.kind:
                found = shrunk(verdict, lambda case: judged([case], compiler)[0])
                yield {
                    "seed": verdict.case.seed,
                    "kind": found.kind,
                    "problem": found.problem,
                    "graph": described(found),
                }


def described(verdict: Verdict) -> str:
    """A graph as text, with the shapes of its inputs in each call."""
    shapes = [", ".join(str(array.shape) for array in call) for call in verdict.case.calls]
    return "\n".join([str(verdict.case.graph), *(f"called with {each}" for each in shapes)])


if __name__ == "__main__":
    sys.exit(main())
