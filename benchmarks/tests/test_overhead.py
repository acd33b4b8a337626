from benchmarks.measure.overhead import measure_overhead, overhead_table


def test_the_guard_alone_costs_less_than_a_millisecond():
    row = measure_overhead(2, "cpu")
    assert row.failure == ""
    assert 0 < row.guard < 1000
    assert 0 < row.direct < 5000
    assert "beside the guard" in overhead_table([row])
