"""Run the suite: `python -m ci.operator_suite [pattern] [--record]`.

It prints both scores and fails if an operator is worse than `operators.json` says; with `--record`
it writes that file, and `docs/operators.md`.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
import time

import torch

from ci.operator_suite.cases import operators
from ci.operator_suite.known import FILE, PAGE
from ci.operator_suite.page import page
from ci.operator_suite.score import score
from ci.suites import known
from ci.suites.running import run
from ci.suites.score import Score

LIMIT = 300
"""Seconds for one operator."""


def one(name: str) -> Score:
    """The score of an operator, in a process beside others."""
    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    return score(name)


def main() -> int:
    """1 if an operator is worse than before, or none was scored."""
    given = arguments()
    names = [name for name in operators() if re.search(given.pattern, name)]
    start = time.monotonic()
    scores = run(names, one, given.jobs, LIMIT, given.seconds)
    report(scores)
    print(f"{len(scores)} of {len(names)} operators in {time.monotonic() - start:.0f} s")
    before = known.read(FILE) if FILE.exists() else {}
    if given.record:
        found = known.recorded(scores, before)
        known.write(found, FILE)
        PAGE.write_text(page(found, len(operators())))
        return 0
    worse = known.worse(scores, before)
    print(*(f"worse than recorded: {each}" for each in worse), sep="\n")
    return int(bool(worse) or not scores)


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="operator_suite")
    parser.add_argument("pattern", nargs="?", default=".", help="a regular expression of names")
    parser.add_argument("--record", action="store_true", help="write operators.json and the page")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after")
    return parser.parse_args()


def report(scores: list[Score]) -> None:
    """Both scores, then what is not right and what is left to PyTorch."""
    right, compiled = (sum(e.is_right for e in scores), sum(e.is_compiled for e in scores))
    print(f"right: {right}, compiled: {compiled}, of {len(scores)}")
    for kind, found in known.of(scores).items():
        print(*(f"{kind}: {name}: {reason}" for name, reason in found.items()), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
