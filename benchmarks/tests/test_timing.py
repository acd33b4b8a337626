import weakref

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


def test_host_time_is_per_call_and_taken_in_turns(sleep):
    called = []
    calls = {name: lambda name=name: (called.append(name), sleep(0.001)) for name in "ab"}
    found = host_microseconds(calls, "cpu", each=2, rounds=3)
    assert found == {name: pytest.approx([1000] * 3) for name in "ab"}
    assert "".join(called[-12:]) == "aabb" * 3


def test_a_result_is_held_while_the_next_call_runs(sleep):
    alive = []

    def call():
        alive.append(sum(each() is not None for each in made))
        made.append(weakref.ref(result := {0}))
        return result

    made = []
    host_microseconds({"call": call}, "cpu", each=4, rounds=1)
    assert alive[-4:] == [0, 1, 1, 1]
