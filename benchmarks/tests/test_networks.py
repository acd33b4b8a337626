import math
from types import SimpleNamespace

import pytest
import torch

from benchmarks.measure import systems
from benchmarks.measure.accuracy import one_by_one
from benchmarks.measure.networks import Row, judged, measure
from benchmarks.measure.table import network_table


def broken(model, inputs):
    raise RuntimeError("no such kernel\nand more")


def wrong(model, inputs):
    return lambda: model(*inputs) * 1.01


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setitem(systems.SYSTEMS, "broken", broken)
    monkeypatch.setitem(systems.SYSTEMS, "wrong", wrong)
    return list(measure("mlp", ("eager", "broken", "wrong", "eager"), seconds=0.01))


def test_a_system_that_fails_or_is_wrong_says_so_and_the_next_still_runs(rows):
    eager, failed, off, again = rows
    assert eager.failure == again.failure == ""
    assert 0 < eager.fastest <= eager.milliseconds
    assert eager.error < 1e-6
    assert failed.failure == "RuntimeError: no such kernel\nand more"
    assert math.isnan(failed.milliseconds)
    assert off.failure.startswith("error 1.0e-02, eager's is")


def test_table_shows_failures_on_one_line_and_drops_empty_columns(rows):
    lines = network_table(rows).splitlines()
    assert len(lines) == 2 + len(rows)
    assert lines[3].rstrip(" |").endswith("RuntimeError: no such kernel")
    assert "kernels" not in lines[0]
    assert len({len(line) for line in lines}) == 1


def test_without_a_floor_only_nan_is_wrong():
    row = Row("mlp", 1, "float32", "cpu", "hidet", error=1.0)
    assert judged(row, math.nan).failure == ""
    assert judged(Row("mlp", 1, "float32", "cpu", "hidet"), 1.0).failure


def test_hidet_computes_the_mlp_and_leaves_nothing():
    (row,) = measure("mlp", ("hidet",), torch.float32, seconds=0.01)
    assert row.failure == ""
    assert row.left == 0
    assert row.compiled > 4
    assert row.compile_seconds > 0


def test_experts_are_called_one_after_the_other_for_the_reference():
    """PyTorch's product of groups takes no float64."""
    config = SimpleNamespace(_experts_implementation="grouped_mm")
    model = torch.nn.Identity()
    model.config = config
    assert one_by_one(model).config._experts_implementation == "eager"
    assert one_by_one(torch.nn.Identity()) is not None
