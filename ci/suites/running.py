"""Scores of many cases, from several processes that share a cache."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence

from ci.suites.score import Score
from ci.suites.workers import Job, scores


def run(
    names: Sequence[str], job: Job, jobs: int, limit: float, seconds: float = float("inf")
) -> list[Score]:
    """The scores of cases by name: `limit` seconds at most for each, `seconds` for all."""
    if jobs > 1:  # then they keep the cores busy
        os.environ.update({"HIDET_JOBS": "1", "HIDET_WORKERS": "1"})
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("HIDET_CACHE_DIR", folder)
        return sorted(scores(names, job, jobs, limit, seconds), key=lambda each: each.name)
