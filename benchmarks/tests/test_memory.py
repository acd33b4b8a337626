import torch

from benchmarks.measure.footprint import planned, planned_table
from benchmarks.measure.memory import MemoryRow, memory_table, tensors_of
from benchmarks.models import build


def test_the_weights_are_all_parameters_and_buffers():
    model, _ = build("mlp")
    assert {id(each) for each in model.parameters()} <= {id(each) for each in tensors_of(model)}


def test_numbers_are_shown_in_mebibytes():
    rows = [
        MemoryRow("mlp", 1, "float16", "hidet", 8.0, 0.5, 1.25),
        MemoryRow("mlp", 1, "float16", "inductor", failure="no GPU"),
    ]
    lines = memory_table(rows).splitlines()
    assert "| 8.0 " in lines[2]
    assert "| 1.2 " in lines[2]
    assert "no GPU" in lines[3]


def test_plans_tell_the_memory_of_a_gpu_that_is_not_there():
    row = planned("mlp", torch.float16)
    assert (row.target, row.weights) == ("sm_90a", 2 * 235146)
    assert row.need.outputs == 2 * 10
    assert row.need.arena >= row.need.live >= 2 * (256 + 128)
    line = planned_table([row]).splitlines()[2]
    assert "mlp, float16, batch 1" in line
    assert "| 0.4 " in line
