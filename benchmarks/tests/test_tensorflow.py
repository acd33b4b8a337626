"""The table of Keras models: every system on the same network, errors beside it."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow", reason="TensorFlow lies in an environment of its own")

from benchmarks.tensorflow import Row, measure, shown

SYSTEMS = ["eager", "tf.function", "XLA", "hidet-tf", "hidet-tf, frozen"]


def test_systems_compute_the_same_network() -> None:
    rows = measure("lstm", SYSTEMS, 0.1)
    assert [row.system for row in rows] == SYSTEMS
    assert all(0 < row.least <= row.milliseconds for row in rows)
    assert all(row.error < 1e-5 for row in rows)


def test_the_table_compares_with_hidet_tf() -> None:
    rows = [
        Row("n", "eager", 5.0, 4.0, 4.0, 0.1, 1e-7),
        Row("n", "hidet-tf", 2.5, 2.0, 2.0, 3.0, 2e-7),
    ]
    assert "2.00x" in shown(rows).splitlines()[2]
