"""Networks on a CPU: rows for each system, and what stops a measurement."""

import math
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


def test_systems_take_iterations_and_have_a_row_each(small):
    rows = cpu.measure("small", ["eager", "ONNX Runtime", "hidet"], 0.0)
    assert [row.system for row in rows] == ["eager", "ONNX Runtime", "hidet"]
    assert all(0 < row.least <= row.milliseconds for row in rows)
    text = cpu.cpu_table(rows)
    assert "1.00x" in text
    assert "Best peer / hidet: small" in text


@pytest.fixture
def convolution(monkeypatch):
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU())
    made = Subject(model.eval().requires_grad_(False), (torch.randn(1, 3, 7, 7),))
    monkeypatch.setattr(cpu, "published", lambda name: made)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_all_systems_compute_in_the_type_that_is_asked_for(convolution, dtype):
    rows = cpu.measure("small", ["eager", "ONNX Runtime", "hidet"], 0.0, dtype=dtype)
    found = {row.system: row for row in rows}
    assert 1e-5 < found["hidet"].error < 1e-2  # it was rounded
    missing = dtype == "bfloat16"
    assert math.isnan(found["ONNX Runtime"].milliseconds) is missing
    text = cpu.cpu_table(rows)
    assert ("ONNX Runtime (no kernels)" in text) is missing
    assert "small nan" not in text


@pytest.fixture
def texts(monkeypatch):
    model = torch.nn.Sequential(torch.nn.Embedding(11, 8), torch.nn.Linear(8, 16))
    made = Subject(model.eval().requires_grad_(False), (torch.randint(11, (1, 5)),))
    monkeypatch.setattr(cpu, "published", lambda name: made)


@pytest.mark.parametrize("made", ["convolution", "texts"])
def test_a_model_of_any_size_is_called_with_the_same_inputs(made, request):
    request.getfixturevalue(made)
    rows = cpu.measure("small", ["eager", "hidet", "hidet, open"], 0.0)
    assert [row.system for row in rows] == ["eager", "hidet", "hidet, open"]
    assert all(row.error < 1e-5 for row in rows)


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


def test_a_batch_is_the_same_inputs_so_many_times(small):
    made = cpu.published("small")
    assert cpu.repeated(made, 3).inputs[0].shape == (12, 8)
    assert [row.system for row in cpu.measure("small", ["hidet"], 0.0, batch=3)] == ["hidet"]
