import math
import time

import torch

from benchmarks.measure import compiling
from benchmarks.measure.compiling import (
    AGAIN,
    COLD,
    CompileRow,
    compile_table,
    measure_compiling,
    timed,
)
from benchmarks.measure.systems import TRACING


def test_a_small_network_cold_and_from_the_cache():
    """Three processes that load PyTorch: seconds."""
    tracing, cold, again = measure_compiling("mlp", torch.float32, "cpu", runs=1)
    assert [each.failure for each in (tracing, cold, again)] == [""] * 3
    assert [each.system for each in (tracing, cold, again)] == [TRACING, COLD, AGAIN]
    assert math.isnan(tracing.beside)
    assert math.isnan(tracing.load)
    assert cold.compile > again.compile
    assert cold.beside == cold.seconds - tracing.seconds
    assert cold.trace > 0
    assert math.isnan(again.trace)  # the graph is known
    for row in (cold, again):
        stages = (row.load, row.compile, row.binaries, row.derive, row.ready)
        assert min(stages) > 0
        assert sum(stages) < row.seconds
        assert math.isnan(row.graph)


def test_a_stage_is_without_those_in_it():
    found = {}
    inner = timed(lambda: time.sleep(0.02), "inner", found)
    timed(lambda: (inner(), inner()), "outer", found)()
    assert found["inner"] > 0.04
    assert found["outer"] < found["inner"] / 2


def test_a_process_that_fails_is_told(monkeypatch):
    monkeypatch.setattr(compiling, "__name__", "benchmarks.measure.nothing")
    rows = list(measure_compiling("mlp", torch.float32, "cpu", runs=1))
    assert all("nothing" in each.failure for each in rows)


def test_seconds_are_shown_with_what_they_went_into():
    row = CompileRow("mlp", 1, "float32", "cpu", AGAIN, 4.0, 0.75, 3.0, 0.5, 0.25, 0.125)
    lines = compile_table([row]).splitlines()
    assert "beside tracing s" in lines[0]
    assert "| 4.00 | 0.75 " in lines[2]
    assert "failure" not in lines[0]
