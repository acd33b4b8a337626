import pytest
import torch

from benchmarks.measure.operators import OperatorRow, measure_operator, operator_table
from benchmarks.operators import Case, cases


def test_names_are_unique():
    names = [case.name for case in cases()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_each_case_builds_for_its_shapes(case):
    if sum(torch.Size(shape).numel() for shape in case.shapes) > 1 << 21:
        pytest.skip("takes gigabytes and seconds on a CPU")
    function, inputs = case.build(torch.float32, "cpu")
    assert function(*inputs).isfinite().all()


def test_an_operator_through_both_systems():
    case = Case("linear 4 8 16", lambda: torch.nn.Linear(16, 8), ((4, 16),), 1024.0)
    row = measure_operator(case, torch.float32, "cpu")
    assert row.failure == ""
    assert 0 < row.hidet_error < 1e-5
    assert row.hidet_us > 0
    assert "linear 4 8 16" in operator_table([row])


def test_failures_are_in_the_table():
    table = operator_table([OperatorRow("x", "float32", "cpu", failure="broken")])
    assert table.splitlines()[-1] == "| x, float32 | broken  |"
