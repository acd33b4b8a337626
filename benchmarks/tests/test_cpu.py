"""Networks on one thread: rows for each system, and what stops a measurement."""

import pytest
import torch

from benchmarks import cpu


@pytest.fixture
def small(monkeypatch):
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU())
    monkeypatch.setattr(cpu, "build", lambda *asked: (model, (torch.randn(4, 8),)))


def test_systems_take_turns_and_have_a_row_each(small):
    rows = cpu.measure("small", ["eager", "hidet"], 3)
    assert [row.system for row in rows] == ["eager", "hidet"]
    assert all(0 < row.least <= row.milliseconds for row in rows)
    text = cpu.cpu_table(rows)
    assert "1.00x" in text
    assert "small" in text


def test_what_computes_something_else_is_no_result(small, monkeypatch):
    monkeypatch.setitem(cpu.SYSTEMS, "wrong", lambda model, inputs: lambda: model(*inputs) + 1)
    with pytest.raises(SystemExit, match="wrong computed something else"):
        cpu.measure("small", ["eager", "wrong"], 1)


def test_one_thread_is_asked_for(monkeypatch, capsys):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with pytest.raises(SystemExit):
        cpu.main(["resnet50"])
    assert "OMP_NUM_THREADS=1" in capsys.readouterr().err
