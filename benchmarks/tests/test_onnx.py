"""The table of exported networks: every system on the same network, errors beside it."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")
pytest.importorskip("onnxscript")

from benchmarks.measure.interleaved import interleaved
from benchmarks.onnx import SYSTEMS, Row, measure, onnx_table


def test_every_system_on_one_network() -> None:
    rows = measure("bert without mask", None, "cpu", True, 0.1, torchscript=True)
    assert [row.system for row in rows] == list(SYSTEMS)
    by_name = {row.system: row for row in rows}
    assert by_name["hidet-onnx"].kernels == by_name["hidet-torch"].kernels
    assert by_name["hidet-onnx"].on_the_host == 0
    assert all(0 < row.least <= row.milliseconds for row in rows)


def test_systems_take_iterations() -> None:
    called: list[str] = []
    calls = {name: lambda name=name: called.append(name) or () for name in ("a", "b")}
    times = interleaved(calls, 0.0, least=2)
    assert called == ["a", "b"] * 3
    assert [len(each.wall) for each in times.values()] == [2, 2]
    assert [len(each.busy) for each in times.values()] == [2, 2]


def test_the_table_compares_with_hidet_onnx() -> None:
    rows = [
        Row("n", "eager", 5.0, 4.5, 4.0, 0.1, 1e-7),
        Row("n", "hidet-onnx", 2.5, 2.1, 2.0, 3.0, 2e-7, 16, 0),
    ]
    lines = onnx_table(rows).splitlines()
    assert "2.00x" in lines[2]
    assert "16" in lines[3]
