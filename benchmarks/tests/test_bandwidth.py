import math

import pytest
import torch

from benchmarks.bandwidth import Streamed, each_streamed
from benchmarks.measure.bandwidth import BandwidthRow, bandwidth_table, copies, measure_bandwidth
from benchmarks.source import write_sources


def small(name: str, shape: tuple[int, int] = (8, 16)) -> Streamed:
    case = next(each for each in each_streamed() if each.name.startswith(name))
    return case._replace(name=name, shape=shape)


def test_names_are_unique():
    names = [case.name for case in each_streamed()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("case", list(each_streamed()), ids=lambda case: case.name)
def test_each_case_gives_as_many_elements_as_it_counts(case):
    reduced = case._replace(shape=(8, 16) if len(case.shape) == 2 else (2, 64, 8, 8))
    out = reduced.build(torch.float32, "cpu")(*reduced.inputs(torch.float32, "cpu"))
    assert out.numel() == case.written(reduced.shape)
    assert out.isfinite().all()


def test_indices_are_read_too():
    assert small("embedding").moved(torch.float16) == 2 * 8 * 16 * 2 + 8 * 8
    x, indices = small("gather").inputs(torch.float16, "cpu")
    assert indices.shape == x.shape
    assert 0 <= int(indices.min()) <= int(indices.max()) < x.shape[1]


def test_bytes_are_those_of_operands_and_result():
    assert small("relu(x + y)").moved(torch.float16) == 3 * 8 * 16 * 2
    assert small("row sum").moved(torch.float32) == (8 * 16 + 8) * 4
    assert small("column sum").moved(torch.float32) == (8 * 16 + 16) * 4


def test_a_row_of_all_systems():
    row = measure_bandwidth(
        small("layer norm"), torch.float32, "cpu", {"memcpy": 5.0, "a kernel": 10.0}, rotated=2048
    )
    assert row.failure == ""
    assert min(row.eager, row.inductor, row.hidet) > 0
    assert 0 < row.hidet_error < 1e-5
    text = bandwidth_table([row])
    assert "| layer norm, float32 |" in text
    assert "memcpy 5, a kernel 10; the fastest counts" in text
    assert row.share == row.gbs / 10
    assert row.share_alike == row.copy / row.hidet > 0


def test_copies():
    assert min(copies("cpu", 1 << 16).values()) > 0


def test_failures_are_in_the_table():
    row = BandwidthRow("x", "float32", 1, {"memcpy": 1.0}, failure="broken")
    assert math.isnan(row.share)
    assert "broken" in bandwidth_table([row])


def test_sources_need_no_gpu(tmp_path):
    write_sources([small("softmax")], torch.float16, tmp_path)
    (source,) = tmp_path.rglob("*.cu")
    assert "__global__" in source.read_text()
    assert list(tmp_path.rglob("*.cubin"))
