import time

import pytest

from hidet.errors import BadArgument
from hidet.utils import benchmark_func


def test_milliseconds_of_one_call():
    assert 2 <= benchmark_func(lambda: time.sleep(0.002), warmup=0, number=2, repeat=3) < 20


def test_every_call_is_made_and_all_means_can_be_had():
    calls = []
    times = benchmark_func(lambda: calls.append(1), warmup=2, number=3, repeat=4, median=False)
    assert len(calls) == 2 + 3 * 4
    assert len(times) == 4


def test_measuring_nothing_is_refused():
    with pytest.raises(BadArgument, match="measure nothing"):
        benchmark_func(lambda: None, number=0)
