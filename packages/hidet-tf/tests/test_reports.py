"""What users look at: the coverage, times, errors against float64, files without TensorFlow."""

import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import hidet
import hidet_tf
from hidet.errors import BadArgument

X = np.random.default_rng(0).standard_normal((3, 8, 8, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def model() -> keras.Model:
    """A convolution, a norm, a dense layer, and two results by name."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input((8, 8, 3), name="image")
    y = keras.layers.Conv2D(4, 3, padding="same", bias_initializer="normal")(inputs)
    y = keras.layers.GlobalAveragePooling2D()(keras.layers.BatchNormalization()(y))
    return keras.Model(inputs, {"scores": keras.layers.Dense(2, "softmax")(y), "features": y})


@pytest.fixture(scope="module")
def compiled(model: keras.Model) -> hidet_tf.Compiled:
    return hidet_tf.compile(model)


def test_the_coverage_counts_operators_and_names_kernels(compiled: hidet_tf.Compiled) -> None:
    told = compiled.explain()
    assert "Conv2D" in told
    assert "0 left to the framework" in told
    assert "kernels" in told
    assert "TensorSpec" in repr(compiled)


def test_times_are_those_of_kernels(compiled: hidet_tf.Compiled) -> None:
    profile = compiled.profile(X, repeat=2)
    assert profile.total > 0
    assert any("conv" in row.name for row in profile.rows)


def test_every_operator_is_compared_with_float64(compiled: hidet_tf.Compiled) -> None:
    report = compiled.correctness_report(X, float64=True)
    assert report.first is None
    assert report.worst < 1e-5


WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(("tensorflow", "keras", "hidet_tf")))
import numpy as np, hidet
x, *expected = np.load(sys.argv[1]).values()
found = hidet.load(sys.argv[2]).run([x])
print(all(np.array_equal(a.numpy(), b) for a, b in zip(found, expected, strict=True)))
"""


def test_a_file_needs_no_tensorflow(compiled: hidet_tf.Compiled, tmp_path: Path) -> None:
    """Results lie flat in it, in the order of `tf.nest.flatten`."""
    compiled.save(tmp_path / "model.hidet")
    flat = tf.nest.flatten(compiled(X))
    np.savez(tmp_path / "values.npz", X, *flat)
    command = [sys.executable, "-c", WITHOUT, tmp_path / "values.npz", tmp_path / "model.hidet"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.stdout.strip() == "True", result.stderr


def test_a_file_reads_images_in_the_order_it_was_saved_for(
    compiled: hidet_tf.Compiled, tmp_path: Path
) -> None:
    compiled.save(tmp_path / "model.hidet", orders={"image": (0, 3, 1, 2)})
    loaded = hidet.load(tmp_path / "model.hidet")
    planes = np.ascontiguousarray(X.transpose(0, 3, 1, 2))
    for found, each in zip(
        loaded.run([planes.transpose(0, 2, 3, 1)]), loaded.run([X]), strict=True
    ):
        np.testing.assert_array_equal(found.numpy(), each.numpy())
    for found, each in zip(loaded.run([X]), tf.nest.flatten(compiled(X)), strict=True):
        np.testing.assert_allclose(found.numpy(), each, rtol=1e-5, atol=1e-6)
    assert loaded.copied == 2


def test_a_file_is_of_the_signature_of_the_latest_call(tmp_path: Path) -> None:
    lazy = hidet_tf.compile(lambda x: x * 2.0)
    with pytest.raises(BadArgument, match="compiled at its first call"):
        lazy.save(tmp_path / "model.hidet")
    lazy(X[0, 0])
    lazy.save(tmp_path / "model.hidet")
    (found,) = hidet.load(tmp_path / "model.hidet").run([X[0, 0]])
    np.testing.assert_array_equal(found.numpy(), X[0, 0] * 2)


def test_core_options_hold_for_what_is_compiled(model: keras.Model) -> None:
    simulated = hidet_tf.compile(model, options={"target": "sim"})
    found = simulated(X[:1, :, :, :])
    for name, expected in model(X[:1]).items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-4, atol=1e-5)
