"""Run the suite: `python -m ci.onnx_suite [pattern] [--target cpu|sim|cuda] [--record]`.

It prints both scores by group and fails if a case is worse than `suite.json` says, which is
recorded of the CPU: with `--record` the suite writes that file. On a machine with a GPU that is
lent for ten minutes, `--target cuda --jobs 16 --seconds 540` stops in time and prints what was
done.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections import Counter
from functools import partial

from ci.onnx_suite import known, workers
from ci.onnx_suite.cases import cases
from ci.onnx_suite.groups import group
from ci.onnx_suite.score import TARGETS, Score, score

LIMIT = 120
"""Seconds for one case."""


def one(name: str, target: str) -> Score:
    """The score of a case by name."""
    return score(cases()[name], target)


def main() -> int:
    """1 if a case is worse than before, or none was scored."""
    given = arguments()
    names = named(given.pattern, given.target)
    start = time.monotonic()
    scores = run(names, given.target, given.jobs, given.seconds)
    report(scores)
    spent = time.monotonic() - start
    print(f"{len(scores)} of {len(names)} cases on {given.target} in {spent:.0f} s")
    if given.record:
        recorded(scores)
        return 0
    worse = known.worse(scores, known.read())
    print(*(f"worse than recorded: {each}" for each in worse), sep="\n")
    return int(bool(worse) or not scores)


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="onnx_suite")
    parser.add_argument("pattern", nargs="?", default=".", help="a regular expression of names")
    parser.add_argument("--target", choices=TARGETS, default="cpu")
    parser.add_argument("--record", action="store_true", help="write suite.json")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after")
    given = parser.parse_args()
    if given.record and given.target != "cpu":
        parser.error("suite.json is recorded of the CPU")
    return given


def named(pattern: str, target: str) -> list[str]:
    """The cases of a pattern, whole networks first, since they take longest.

    The simulator does not run those.
    """
    found = [case for name, case in cases().items() if re.search(pattern, name)]
    real = [case.name for case in found if case.kind == "real" and target != "sim"]
    return [*real, *(case.name for case in found if case.kind != "real")]


def run(names: list[str], target: str, jobs: int, seconds: float = float("inf")) -> list[Score]:
    """The scores of cases by name, from several processes that share a cache."""
    if jobs > 1:  # then they keep the cores busy
        os.environ.update({"HIDET_JOBS": "1", "HIDET_WORKERS": "1"})
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("HIDET_CACHE_DIR", folder)
        found = workers.scores(names, partial(one, target=target), jobs, LIMIT, seconds)
        return sorted(found, key=lambda each: each.name)


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


def recorded(scores: list[Score]) -> None:
    """Write what these cases are now, the others as they were."""
    found, names = known.of(scores), {each.name for each in scores}
    before = known.read() if known.FILE.exists() else {}
    for kind, listed in found.items():
        kept = {n: r for n, r in before.get(kind, {}).items() if n not in names}
        found[kind] = dict(sorted({**kept, **listed}.items()))
    known.write(found)


if __name__ == "__main__":
    sys.exit(main())
