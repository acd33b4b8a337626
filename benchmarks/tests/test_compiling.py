import json
import math
import os
import time

import pytest
import torch

from benchmarks.measure import compiling, first_calls
from benchmarks.measure.compiling import CompileRow, compile_table, measure_compiling, median
from benchmarks.measure.first_calls import Asked, interleaved, timed
from benchmarks.measure.systems import TRACING

OURS = (TRACING, "hidet")


def test_a_small_network_cold_and_from_the_cache():
    """Three processes: seconds."""
    tracing, cold, again = measure_compiling("mlp", torch.float32, "cpu", systems=OURS, runs=1)
    assert [each.failure for each in (tracing, cold, again)] == [""] * 3
    assert [each.processes for each in (tracing, cold, again)] == [1, 1, 1]
    assert [each.system for each in (tracing, cold, again)] == [
        TRACING,
        "hidet, cold",
        "hidet, from the cache",
    ]
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


def test_what_others_are_compared_with_is_cold_once_and_before_the_last_round():
    rounds = list(interleaved((*OURS, "inductor"), 3))
    ours = [(TRACING, False), ("hidet", True)]
    theirs = [("inductor", True)]
    cold = [(TRACING, False), ("hidet", False), ("hidet", True)]
    assert rounds == [*cold, *ours, ("inductor", False), *theirs, *ours, *theirs, *theirs]
    assert list(interleaved(OURS, 1)) == cold


def test_the_median_process_counts():
    row = CompileRow("mlp", 1, "float32", "cpu", TRACING)
    found = [
        {"seconds": 3.0, "processor": 1.0, "graph": 0.3},
        {"seconds": 1.0, "processor": 0.5, "graph": 0.1},
        {"seconds": 2.0, "processor": 0.7, "graph": 0.2},
    ]
    middle = median(row, found)
    assert (middle.processes, middle.seconds, middle.graph, middle.processor) == (3, 2.0, 0.2, 0.7)
    assert middle.fastest == 1.0
    assert median(row, found[:2]).seconds == 1.0
    assert median(row, [*found, {"failure": "lost"}]).failure == "lost"
    assert median(row, []).failure == "not done in time"


def asked(tmp_path, seconds):
    end = time.monotonic() + seconds
    return Asked("mlp", "float32", "cpu", 1, OURS, 2, end, str(tmp_path / "found"))


def found_by(asked):
    path = compiling.Path(asked.report)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_process_that_takes_too_long_is_ended_and_none_begins_after(tmp_path, monkeypatch):
    monkeypatch.setattr(first_calls, "first_call", lambda asked, system: time.sleep(60))
    given, start = asked(tmp_path, 0.3), time.monotonic()
    first_calls.measure(given)
    assert time.monotonic() - start < 10
    assert found_by(given) == []


@pytest.mark.parametrize(
    ("end", "report"), [(lambda *_: 1 / 0, "ZeroDivisionError"), (lambda *_: os._exit(3), "status")]
)
def test_a_process_that_fails_is_told(tmp_path, monkeypatch, end, report):
    monkeypatch.setattr(first_calls, "first_call", end)
    given = asked(tmp_path, 30)
    first_calls.measure(given)
    assert len(found_by(given)) == 5
    assert all(report in each["failure"] for each in found_by(given))


def test_when_no_process_can_begin_all_rows_say_so(monkeypatch):
    monkeypatch.setattr(compiling, "PROCESSES", "benchmarks.measure.nothing")
    rows = list(measure_compiling("mlp", torch.float32, "cpu"))
    assert len(rows) == 5
    assert all("nothing" in each.failure for each in rows)


def test_seconds_are_shown_with_what_they_went_into():
    row = CompileRow("mlp", 1, "float32", "cpu", "hidet", 3, 4.0, 3.5, 0.75, 3.0, 0.5)
    lines = compile_table([row]).splitlines()
    assert "beside tracing s" in lines[0]
    assert "| 3         | 4.00 | 3.50    | 0.75 " in lines[2]
    assert "failure" not in lines[0]
