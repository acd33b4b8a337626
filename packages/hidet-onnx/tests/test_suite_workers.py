"""The processes that score cases of the suite: what one case does harms no other."""

from __future__ import annotations

import os
import time

import pytest

pytest.importorskip("ci", reason="the suite's runner is not beside tests of installed wheels")
from ci.suites.score import Score
from ci.suites.workers import scores

FOREVER = 600.0


def job(name: str) -> Score:
    """A case that does what its name says; the process is the reason of one that is wrong."""
    if name.startswith("dies"):
        os._exit(7)
    if name.startswith("hangs"):
        time.sleep(FOREVER)
    return Score(name, str(os.getpid()) if name.startswith("wrong") else "")


def found(names: list[str], limit: float = FOREVER, seconds: float = FOREVER, jobs: int = 2):
    """Reasons by name."""
    return {each.name: each.reason for each in scores(names, job, jobs, limit, seconds)}


def test_a_case_that_dies_or_hangs_costs_no_other():
    names = ["a", "dies", "b", "hangs", "c", "d"]
    reasons = found(names, limit=1.0)
    assert reasons.pop("dies") == "ended its process: 7"
    assert reasons.pop("hangs") == "no result within 1 seconds"
    assert reasons == dict.fromkeys("abcd", "")


def test_a_process_ends_with_a_case_that_is_wrong():
    reasons = found(["wrong 1", "wrong 2"], jobs=1)
    assert len(set(reasons.values())) == 2


def test_what_was_done_is_given_when_the_time_is_over():
    start = time.monotonic()
    assert found(["a", "hangs 1", "hangs 2", "b"], seconds=2.0) == {"a": ""}
    assert time.monotonic() - start < FOREVER
    assert found(["a"], seconds=0.0) == {}
