import signal
import time
from contextlib import suppress

import pytest

from benchmarks import demo
from benchmarks.demo import failures
from benchmarks.measure import systems
from benchmarks.measure.limit import TimeIsUp, time_limit
from benchmarks.measure.networks import Row


def test_only_hidet_makes_the_demo_fail():
    peer = Row("mlp", 1, "float32", "cpu", "inductor", failure="no compiler")
    assert failures([peer]) == []


def test_what_makes_it_fail_is_named():
    rows = [
        Row("mlp", 1, "float32", "cpu", "hidet", failure="BuildFailed: no compiler"),
        Row("bert", 1, "float32", "cpu", "hidet", compiled=7, left=2),
    ]
    assert failures(rows) == [
        "mlp: hidet failed: BuildFailed: no compiler",
        "bert: hidet left 2 operators to PyTorch",
    ]


def endless(model, inputs):
    """A compiler that the end of its time meets, and that keeps exceptions to itself."""
    with suppress(Exception):
        signal.raise_signal(signal.SIGALRM)
    return lambda: model(*inputs)


@pytest.fixture
def small(monkeypatch):
    """The demo of a small network, whose time is up in PyTorch's compiler."""
    monkeypatch.setattr(demo, "NETWORKS", ("mlp",))
    monkeypatch.setattr(demo, "default_device", lambda: "cpu")
    monkeypatch.setitem(systems.SYSTEMS, "inductor", endless)


def test_on_a_busy_machine_it_ends_and_says_what_was_not_ready(small, capsys):
    assert demo.main(["--seconds", "600", "--busy", "2"]) == 0
    printed = capsys.readouterr().out
    lines = {line.split("|")[2].strip(): line for line in printed.splitlines() if line[:1] == "|"}
    assert "not ready after" in lines["inductor"]
    for system in ("eager", "hidet"):
        assert "not ready" not in lines[system]
        heads, values = (lines[row].split("|") for row in ("system", system))
        cells = {h.strip(): value for h, value in zip(heads, values, strict=True)}
        assert 0 < float(cells["fastest"]) <= float(cells["ms"])
        assert int(cells["calls"]) >= 1
    assert "2 busy processes beside" in printed


def test_a_demo_without_time_fails_for_hidet(small, capsys):
    assert demo.main(["--seconds", "0"]) == 1
    assert "mlp: hidet failed: not ready after 0 s" in capsys.readouterr().out


def test_a_limit_ends_with_its_block():
    with pytest.raises(TimeIsUp), time_limit(0.01):
        time.sleep(60)
    with time_limit(0.05):
        pass
    time.sleep(0.1)
