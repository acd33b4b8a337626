"""Networks on a CPU: rows for each system, and what stops a measurement."""

import os

import pytest
import torch

from benchmarks import cpu
from benchmarks.exports import Subject


@pytest.fixture
def small(monkeypatch):
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU())
    made = Subject(model.eval().requires_grad_(False), (torch.randn(4, 8),))
    monkeypatch.setattr(cpu, "published", lambda name: made)


def test_systems_take_turns_and_have_a_row_each(small):
    rows = cpu.measure("small", ["eager", "ONNX Runtime", "hidet"], 0.0)
    assert [row.system for row in rows] == ["eager", "ONNX Runtime", "hidet"]
    assert all(0 < row.least <= row.milliseconds for row in rows)
    text = cpu.cpu_table(rows)
    assert "1.00x" in text
    assert "Best peer / hidet: small" in text


def test_the_verdict_takes_the_best_peer():
    times = {"a": {"eager": 4.0, "ONNX Runtime": 2.0, "hidet": 1.0}, "b": {"eager": 1, "hidet": 2}}
    assert cpu.verdict(times) == "Best peer / hidet: a 2.00, b 0.50; geometric mean 1.00."
    assert cpu.verdict({"a": {"hidet": 1.0}}) == ""


def test_what_computes_something_else_is_no_result(small, monkeypatch):
    wrong = lambda made: lambda: [made.model(*made.inputs) + 1]
    monkeypatch.setitem(cpu.SYSTEMS, "wrong", wrong)
    with pytest.raises(SystemExit, match="wrong computed something else"):
        cpu.measure("small", ["eager", "wrong"], 0.0)


def test_busy_processes_end_with_their_block():
    with cpu.busy_processes(2):
        pass
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
