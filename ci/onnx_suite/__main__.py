"""Run the suite: `python -m ci.onnx_suite [pattern] [--record]`.

It prints both scores by group and fails if a case is worse than `suite.json` says; with `--record`
it writes that file.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import sys
import tempfile
from collections import Counter

from ci.onnx_suite import known
from ci.onnx_suite.cases import cases
from ci.onnx_suite.groups import group
from ci.onnx_suite.score import Score, score

LIMIT = 120
"""Seconds for one case."""


def one(name: str) -> Score:
    """The score of a case by name."""
    return score(cases()[name])


def main() -> int:
    """The number of cases that are worse than before is the exit status, at most 1."""
    parser = argparse.ArgumentParser(prog="onnx_suite")
    parser.add_argument("pattern", nargs="?", default=".")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4))
    given = parser.parse_args()
    names = [name for name in cases() if re.search(given.pattern, name)]
    scores = run(names, given.jobs)
    report(scores)
    if given.record:
        recorded(scores, set(names))
        return 0
    worse = known.worse(scores, known.read())
    print(*(f"worse than recorded: {each}" for each in worse), sep="\n")
    return min(len(worse), 1)


def run(names: list[str], jobs: int) -> list[Score]:
    """The scores of cases, in several processes that share a cache."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("HIDET_CACHE_DIR", folder)
        with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=200) as pool:
            waiting = [(name, pool.apply_async(one, (name,))) for name in names]
            return [result(name, each) for name, each in waiting]


def result(name: str, waiting: multiprocessing.pool.AsyncResult[Score]) -> Score:
    """A case's score, or that it died or took too long."""
    try:
        return waiting.get(LIMIT)
    except multiprocessing.TimeoutError:
        return Score(name, f"no result within {LIMIT} seconds")


def report(scores: list[Score]) -> None:
    """Both scores by group, then what is not right."""
    every, right, compiled = Counter[str](), Counter[str](), Counter[str]()
    for each in scores:
        where = group(each.name, cases()[each.name].load()[0])
        every[where] += 1
        right[where] += each.is_right
        compiled[where] += each.is_compiled
    print("| group | cases | right | without host steps |\n|---|---|---|---|")
    for where, count in every.most_common():
        print(f"| {where} | {count} | {right[where]} | {compiled[where]} |")
    print(f"| all | {every.total()} | {right.total()} | {compiled.total()} |\n")
    for kind, found in known.of(scores).items():
        print(*(f"{kind}: {name}: {reason}" for name, reason in found.items()), sep="\n")


def recorded(scores: list[Score], names: set[str]) -> None:
    """Write what these cases are now, the others as they were."""
    found = known.of(scores)
    before = known.read() if known.FILE.exists() else {}
    for kind, listed in found.items():
        kept = {n: r for n, r in before.get(kind, {}).items() if n not in names}
        found[kind] = dict(sorted({**kept, **listed}.items()))
    known.write(found)


if __name__ == "__main__":
    sys.exit(main())
