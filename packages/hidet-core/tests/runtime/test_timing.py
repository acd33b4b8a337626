import pytest

from hidet.errors import BadArgument
from hidet.runtime.devices.timing import Timing, median_seconds


def test_the_median_is_measured_without_the_warmups(monkeypatch, clock):
    monkeypatch.setattr("hidet.runtime.devices.timing.time", clock)
    pauses = iter([0.05, 0.05, 0.002, 0.002, 0.002, 0.002, 0.05])
    found = median_seconds(lambda: clock.sleep(next(pauses)), repeats=5, warmups=2)
    assert found == pytest.approx(0.002)


def test_nothing_measured_is_an_error():
    with pytest.raises(BadArgument, match="0 repeats"):
        median_seconds(lambda: None, repeats=0)


def test_a_timing_tells_how_far_rounds_are_apart():
    timing = Timing([4.0, 1.0, 3.0, 2.0])
    assert timing == 2.5
    assert timing.spread == 1.5
    assert Timing([7.0]).spread == 0.0


def test_work_of_a_gpu_is_measured_between_two_events_of_its_stream(monkeypatch):
    """The driver's clock is not asked: who times is the events, of which each repeat has two."""
    noted = []

    class Noted:
        def __init__(self, device, timed):
            assert (device, timed) == ("cuda:0", True)

        def record(self, stream):
            noted.append(stream)

        def synchronize(self):
            noted.append("wait")

        def seconds_since(self, start):
            return len(noted) / 1000

    monkeypatch.setattr("hidet.runtime.devices.timing.Event", Noted)
    found = median_seconds(
        lambda: noted.append("work"), device="cuda:0", stream=7, repeats=3, warmups=1
    )
    assert noted == ["work", *[7, "work", 7, "wait"] * 3]
    assert found == 9 / 1000
