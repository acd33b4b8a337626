"""PyTorch's operators beside eager: which calls are measured, and how they are summed up."""

import pytest
import torch

from benchmarks import operators_torch
from benchmarks.enlarged import bounded, enlarged
from benchmarks.measure.beside import WANTED, Timed, recorded, summary
from ci.operator_suite.cases import operators


@pytest.mark.parametrize(
    "name",
    ["exp", "add", "cumsum", "eq", "special.ndtri", "grid_sampler_3d", "nn.functional.conv2d"],
)
def test_calls_read_about_a_megabyte(name):
    call = enlarged(operators()[name])
    assert WANTED / 4 <= call.nbytes <= WANTED * 4
    assert isinstance(call(call.copies()), torch.Tensor)


def test_the_sizes_of_samples_are_as_before_afterwards():
    enlarged(operators()["exp"])
    first = next(iter(operators()["exp"].sample_inputs("cpu", torch.float32)))
    assert first.input.numel() < 1000


def test_large_samples_are_not_made():
    with pytest.raises(RuntimeError, match="4096, 4096"):
        bounded((4096, 4096), dtype=torch.float32, device="cpu")


def test_the_slower_ones_are_told_with_the_worst_first():
    rows = [
        Timed("a", theirs=10.0, hidet=20.0, nbytes=2048),
        Timed("b", theirs=10.0, hidet=40.0, nbytes=2048),
        Timed("c", theirs=10.0, hidet=10.0, nbytes=2048),
        Timed("d", "ended its process: 1"),
    ]
    text = summary(rows, "eager")
    assert text.index("`b`") < text.index("`a`")
    assert "| `a`      | 2   | 10.0     | 20.0     | 2.00        |" in text
    assert "3 operators, 2.00 times eager in the geometric mean; 2 above 1.2." in text
    assert "- `d`: ended its process: 1" in text
    assert "`c`" not in text


def test_operators_are_measured_that_are_asked_for(capsys):
    assert operators_torch.main(["^trace$", "--seconds", "0"]) == 0
    assert "1 operators" in capsys.readouterr().out


def test_rows_of_a_file_are_not_measured_again(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    asked = ["^(trace|tril)$", "--seconds", "0", "--rows", str(rows)]
    assert operators_torch.main(["^trace$", *asked[1:]]) == 0
    (first,) = recorded(rows).values()
    assert operators_torch.main(asked) == 0
    assert [*recorded(rows)] == ["trace", "tril"]
    assert recorded(rows)["trace"] == first
    assert "2 operators" in capsys.readouterr().out
