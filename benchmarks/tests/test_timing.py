import pytest

from benchmarks.measure import timing
from benchmarks.measure.timing import host_microseconds, milliseconds


class Clock:
    """Stands for the module `time`: it moves on when told only."""

    now = 0.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def sleep(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(timing, "time", clock)
    return clock.sleep


def test_median_ignores_a_slow_call(sleep):
    calls = []

    def call():
        calls.append(None)
        sleep(0.05 if len(calls) == 5 else 0.002)

    assert milliseconds(call, "cpu", seconds=0.1).median == pytest.approx(2)
    assert len(calls) > 10


def test_host_time_is_per_call(sleep):
    found = host_microseconds(lambda: sleep(0.001), "cpu", calls=20, rounds=2)
    assert found == pytest.approx(1000)
