import numpy as np
import pytest

import hidet
from hidet.errors import BadArgument
from hidet.utils import benchmark_func


@pytest.fixture
def sleep(monkeypatch, clock):
    """A call that takes as many seconds as it is told, on any machine."""
    monkeypatch.setattr("hidet.runtime.devices.timing.time", clock)
    return clock.sleep


def test_milliseconds_of_one_call(sleep):
    found = benchmark_func(lambda: sleep(0.002), warmup=0, number=2, repeat=3)
    assert found == pytest.approx(2)


def test_every_call_is_made_and_all_means_can_be_had():
    calls = []
    times = benchmark_func(lambda: calls.append(1), warmup=2, number=3, repeat=4, median=False)
    assert len(calls) == 2 + 3 * 4
    assert len(times) == 4


def test_measuring_nothing_is_refused():
    with pytest.raises(BadArgument, match="measure nothing"):
        benchmark_func(lambda: None, number=0)


def test_the_median_tells_how_far_the_rounds_are_apart(sleep):
    pauses = iter([0.003, 0.001, 0.005, 0.002, 0.009])
    found = benchmark_func(lambda: sleep(next(pauses)), warmup=0, number=1, repeat=5)
    assert found.times == pytest.approx((3, 1, 5, 2, 9))
    assert found == pytest.approx(3)
    assert found.spread == pytest.approx(5 - 2)
    assert f"{found:2f}" == f"{float(found):2f}"
    assert benchmark_func(lambda: None, repeat=1).spread == 0.0


def test_the_cache_is_flushed_before_each_call(monkeypatch):
    order = []
    monkeypatch.setattr(hidet.utils, "flushing", lambda *_: lambda: order.append("flush"))
    benchmark_func(lambda: order.append("call"), warmup=1, number=2, repeat=2, flush_l2=True)
    assert order == ["call", *["flush", "call"] * 4]


def test_data_that_was_flushed_takes_longer_to_read(monkeypatch):
    monkeypatch.setattr(hidet.utils, "device_in_use", lambda: None)
    data = np.ones(1 << 16)
    warm = benchmark_func(data.sum, number=1, repeat=9)
    cold = benchmark_func(data.sum, number=1, repeat=9, flush_l2=True)
    assert min(cold.times) > min(warm.times)


@pytest.mark.gpu
def test_a_flushed_copy_on_a_gpu_is_slower():
    x = hidet.ones((1 << 20,), device="cuda")
    graph = hidet.trace_from([(y := hidet.symbol_like(x)) * 2.0], [y])
    compiled = graph.build()
    warm = benchmark_func(lambda: compiled(x))
    cold = benchmark_func(lambda: compiled(x), flush_l2=True)
    assert min(warm, cold) > 0
    assert cold.spread >= 0
