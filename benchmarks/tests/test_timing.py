import time

from benchmarks.measure.timing import host_microseconds, milliseconds


def test_median_ignores_a_slow_call():
    calls = []

    def call():
        calls.append(None)
        time.sleep(0.05 if len(calls) == 5 else 0.002)

    assert 2 <= milliseconds(call, "cpu", seconds=0.1).median < 20


def test_host_time_is_per_call():
    assert 1000 <= host_microseconds(lambda: time.sleep(0.001), "cpu", calls=20, rounds=2) < 4000
