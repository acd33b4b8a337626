"""The networks that GPUs are compared on, and how rows become a table."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("transformers")

from benchmarks.gpu import NETWORKS, GpuRow, gpu_table, subject, summary
from benchmarks.networks.others import OTHERS
from benchmarks.published import PUBLISHED


def test_each_compared_network_is_known() -> None:
    assert len(NETWORKS) == len(set(NETWORKS)) == 22
    assert not set(NETWORKS) - set(PUBLISHED) - set(OTHERS)


def test_a_batch_repeats_the_input_and_the_type_is_that_of_weights_too() -> None:
    made = subject("vgg16", "bfloat16", 3, small=True)
    assert made.inputs[0].shape == (3, 3, 32, 32)
    assert {made.inputs[0].dtype, *(p.dtype for p in made.model.parameters())} == {torch.bfloat16}


def test_the_table_compares_with_hidet() -> None:
    rows = [
        GpuRow("a", "inductor", 3.0, 2.5, 2.0, 9.0, 1e-3),
        GpuRow("a", "hidet", 1.5, 1.5, 0.5, 4.0, 1e-3),
    ]
    lines = gpu_table(rows).splitlines()
    assert [cell.strip() for cell in lines[2].split("|")][6:8] == ["2.00", "4.00"]
    assert [cell.strip() for cell in lines[3].split("|")][6:8] == ["1.00", "1.00"]


def test_the_summary_compares_each_of_our_calls_with_the_best_peer() -> None:
    times = {"inductor": (3.0, 2.0), "eager in a CUDA graph": (4.0, 1.5), "hidet": (1.5, 0.5)}
    rows = [GpuRow("a", s, single, single, row, 9.0, 0.0) for s, (single, row) in times.items()]
    rows.append(GpuRow("a", "hidet_torch.compile", 1.0, 1.0, 0.5, 9.0, 0.0))
    printed = summary([*rows, GpuRow("alone", "hidet", 1.0, 1.0, 1.0, 1.0, 0.0)])
    assert "- hidet, single calls: 2.00; 2.00 for a" in printed
    assert "- hidet, calls in a row: 3.00; 3.00 for a" in printed
    assert "- hidet_torch.compile, single calls: 3.00; 3.00 for a" in printed
