import time

import pytest

from hidet.errors import BadArgument
from hidet.runtime.timing import median_seconds


def test_the_median_is_measured_without_the_warmups():
    pauses = iter([0.05, 0.05, 0.002, 0.002, 0.002, 0.002, 0.05])
    found = median_seconds(lambda: time.sleep(next(pauses)), repeats=5, warmups=2)
    assert 0.002 <= found < 0.03


def test_nothing_measured_is_an_error():
    with pytest.raises(BadArgument, match="0 repeats"):
        median_seconds(lambda: None, repeats=0)
