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
import time
from collections import Counter
from functools import partial

from ci.onnx_suite.cases import cases
from ci.onnx_suite.groups import group
from ci.onnx_suite.known import FILE
from ci.onnx_suite.score import TARGETS, score
from ci.suites import known
from ci.suites.running import run
from ci.suites.score import Score

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
    scores = run(names, partial(one, target=given.target), given.jobs, LIMIT, given.seconds)
    report(scores)
    spent = time.monotonic() - start
    print(f"{len(scores)} of {len(names)} cases on {given.target} in {spent:.0f} s")
    if given.record:
        before = known.read(FILE) if FILE.exists() else {}
        known.write(known.recorded(scores, before), FILE)
        return 0
    worse = known.worse(scores, known.read(FILE))
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


if __name__ == "__main__":
    sys.exit(main())
