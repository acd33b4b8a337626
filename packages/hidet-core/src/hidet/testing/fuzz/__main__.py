"""Tries graphs in this process and prints what came out as JSON: what `ci/fuzz.py` starts."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from hidet.testing.fuzz import Case, Verdict, judged, random_case, shrunk
from hidet.testing.fuzz.cases import features

TARGETS = {"cpu": ("", "cpu"), "sim": ("sim", "cpu"), "cuda": ("", "cuda")}
"""The compiler's target and the device of the tensors."""
LARGEST = {"cpu": 4096, "sim": 1024, "cuda": 1 << 16}
"""The most elements of a tensor."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a list of failures, each with the keys seed, kind, problem, graph, and how many of the
    graphs have what."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1, help="how many graphs")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--target", choices=TARGETS, default="cpu")
    parser.add_argument("--batch", type=int, default=8, help="graphs in one compilation")
    parser.add_argument("--regions", action="store_true", help="control flow in each graph")
    given = parser.parse_args(arguments)
    seeds = range(given.seed, given.seed + given.count)
    failures: list[dict[str, object]] = []
    counted: Counter[str] = Counter()
    for verdict in verdicts(seeds, given.target, given.batch, given.regions):
        counted.update(features(verdict.case.graph))
        if verdict.kind:
            failures.append(made_small(verdict, TARGETS[given.target][0]))
    print(json.dumps({"failures": failures, "features": counted}))
    return 0


def verdicts(seeds: Sequence[int], target: str, batch: int, regions: bool) -> Iterator[Verdict]:
    """What becomes of these graphs, so many compiled at a time."""
    compiler, device = TARGETS[target]
    for at in range(0, len(seeds), batch):
        some = seeds[at : at + batch]
        cases = [random_case(each, device, LARGEST[target], regions=regions) for each in some]
        yield from judged(cases, compiler)


def made_small(verdict: Verdict, compiler: str) -> dict[str, object]:
    """The smallest graph found that fails in the same way."""

    def again(case: Case) -> Verdict:
        return judged([case], compiler)[0]

    found = shrunk(verdict, again)
    return {
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
