"""Few candidates, and records of a test's own."""

import pytest

from hidet.build.choosing import choices as known
from hidet.build.measured import rounds
from hidet.options import options
from hidet.tuning import contest, store

from .tuned_graphs import choices


@pytest.fixture
def tuning(tmp_path, monkeypatch):
    """A tuner that measures few candidates for a short time, and knows nothing."""
    monkeypatch.setattr(known, "choices", choices)
    monkeypatch.setattr(rounds, "BEST", 2)
    monkeypatch.setattr(contest, "ROUND_SECONDS", 0.05)
    monkeypatch.setattr(store, "_memory", {})
    with options(cache_dir=str(tmp_path), progress=False, workers=1):  # starting them takes seconds
        yield
