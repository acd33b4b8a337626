"""Single operators on a CPU: what is measured, and how it is summed up."""

import pytest
import torch

from benchmarks import cpu_operators
from benchmarks.cpu import CpuRow


def test_there_are_sixty_and_each_can_be_made():
    assert len(cpu_operators.OPERATORS) >= 60
    for name in (
        "conv transposed 2x2 /2 32>16 @64",
        "softmax tiny 10x10",
        "add broadcast 64x1 1x4099",
    ):
        made = cpu_operators.subject(name)
        assert isinstance(made.model(*made.inputs), torch.Tensor)


def test_the_least_times_are_compared_with_the_best_peer():
    rows = [
        CpuRow("a", "eager", 3.0, 2.0, 0.0, 0.0),
        CpuRow("a", "ONNX Runtime", 9.0, 1.0, 0.0, 0.0),
        CpuRow("a", "hidet", 9.0, 2.0, 0.0, 0.0),
    ]
    text = cpu_operators.summary(rows)
    assert "| a        | 2000.0 | 1000.0       | 2000.0 | 0.50              |" in text
    assert "Geometric mean 0.50; 1 of 1 below 0.9." in text


def test_operators_are_chosen_by_parts_of_their_names(capsys):
    assert cpu_operators.main(["relu tiny", "--systems", "eager", "hidet", "--seconds", "0"]) == 0
    assert "| relu tiny 100 |" in capsys.readouterr().out


def test_only_what_was_computed_rightly_counts(monkeypatch):
    wrong = cpu_operators.SYSTEMS | {"wrong": lambda made: lambda: [made.model(*made.inputs) + 1]}
    monkeypatch.setattr("benchmarks.cpu.SYSTEMS", wrong)
    made = cpu_operators.subject("relu tiny 100")
    with pytest.raises(SystemExit, match="wrong computed something else"):
        cpu_operators.compared("relu", made, ["eager", "wrong"], 0.0)
