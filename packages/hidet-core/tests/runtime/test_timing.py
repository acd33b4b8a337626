import pytest

from hidet.errors import BadArgument
from hidet.runtime.timing import Timing, median_seconds


def test_the_median_is_measured_without_the_warmups(monkeypatch, clock):
    monkeypatch.setattr("hidet.runtime.timing.time", clock)
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
