import math

import torch

from benchmarks.measure import overhead
from benchmarks.measure.overhead import OverheadRow, doubled, measure_overhead, overhead_table


def test_the_guard_alone_costs_less_than_a_millisecond():
    row = measure_overhead(2, "cpu")
    assert row.failure == ""
    assert 0 < row.guard < 1000
    assert 0 < row.direct < 5000
    assert 0 < row.loaded < 5000
    assert math.isnan(row.script)
    assert "beside the guard" in overhead_table([row])


def test_what_is_beside_the_guard_is_the_middle_of_the_differences(monkeypatch):
    """The medians' own difference is 0 where the machine was slow in other rounds for each."""
    parts = {"guard": [10.0, 30.0, 10.0], "hidet": [15.0, 34.0, 10.0]}
    monkeypatch.setattr(overhead, "host_microseconds", lambda calls, device: parts)
    row = measure_overhead(2, "cpu")
    assert (row.guard, row.hidet, row.beside) == (10, 15, 4)


def test_what_fails_is_told(monkeypatch):
    monkeypatch.setitem(overhead.SYSTEMS, "hidet", lambda model, inputs: 1 // 0)
    row = measure_overhead(2, "cpu")
    assert row.failure.startswith("ZeroDivisionError")
    assert math.isnan(row.beside)
    assert "ZeroDivisionError" in overhead_table([OverheadRow(2, "cpu"), row])


def test_each_model_has_code_of_its_own():
    one, other = doubled(), doubled()
    assert type(one).forward.__code__ is not type(other).forward.__code__
    x = torch.ones(3)
    assert [y.tolist() for y in one(x, x)] == [[2.0] * 3] * 2
