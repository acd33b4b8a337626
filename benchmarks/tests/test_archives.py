"""Archives that travel without their weights: made, emptied, filled in, run and compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hidet
from benchmarks.archives.run import Row, run
from benchmarks.archives.weights import Draw, emptied, filled
from hidet import ops
from hidet.graph import FlowGraph
from hidet.runtime.plans.archive import Archive

DRAW = Draw(7, (16, 32), 0.25)


def archive(path: Path) -> Archive:
    x = hidet.symbol((2, 16))
    w, b = hidet.from_numpy(DRAW.array()), hidet.from_numpy(np.ones(32, np.float32))
    FlowGraph([x], [ops.matmul(x, w) + b]).build().save(path)
    return Archive.load(path)


def test_draws_spread_as_they_are_asked_to() -> None:
    values = Draw(3, (400, 300), 0.5).array()
    assert values.dtype == np.float32
    assert abs(values.std() - 0.5) < 0.005
    assert abs(values.mean()) < 0.005
    assert np.array_equal(values, Draw(3, (400, 300), 0.5).array())
    assert not np.array_equal(values, Draw(4, (400, 300), 0.5).array())


def test_the_first_numbers_of_a_seed_are_those_of_every_machine() -> None:
    expected = np.array([0.444905, 0.125095, 0.184180], np.float32)
    assert Draw(7, (3,), 12**-0.5).array() == pytest.approx(expected, abs=1e-6)


def test_what_was_taken_out_is_filled_in_again(tmp_path: Path) -> None:
    whole = archive(tmp_path / "whole")
    empty, drawn = emptied(whole, [DRAW, replace(DRAW, seed=8)])
    assert [*drawn.values()] == [DRAW]
    assert [each.shape for each in empty.weights.values()] == [(32,)]
    assert filled(empty, drawn).to_bytes() == whole.to_bytes()


def test_a_row_is_wrong_from_four_times_the_error_on() -> None:
    row = Row("n", 1.0, 1.0, 4e-6, 1e-6, 3)
    assert row.is_right
    assert not replace(row, error=4.1e-6).is_right
    assert not replace(row, error=float("nan")).is_right


def test_a_network_that_was_made_runs_from_its_folder(tmp_path: Path) -> None:
    keras = pytest.importorskip("keras", reason="only who makes networks needs TensorFlow")
    from benchmarks.archives.make import make  # noqa: PLC0415  it needs TensorFlow

    layers = keras.layers
    inputs = keras.Input((8, 8, 3))
    x = layers.BatchNormalization()(layers.Conv2D(64, 3)(inputs))
    x = layers.Dense(10)(layers.GlobalAveragePooling2D()(layers.Activation("relu")(x)))
    facts = make("small", keras.Model(inputs, x), tmp_path, "cpu")
    row = run("small", tmp_path, "cpu")
    assert row.is_right
    assert row.kernels > 1
    assert facts["cpu"] < 1e-6
    assert [each["shape"] for each in facts["weights"].values()] == [(3, 3, 3, 64)]
