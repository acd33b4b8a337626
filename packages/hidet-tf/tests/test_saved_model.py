"""SavedModel folders and `.keras` files."""

from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import hidet_tf
from hidet.errors import BadArgument

RNG = np.random.default_rng(0)
ERROR = {"fallback": "error"}


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def network() -> keras.Model:
    layers = keras.layers
    return keras.Sequential([keras.Input((4,)), layers.Dense(5, "tanh"), layers.Dense(2)])


class Words(tf.Module):
    """Two signatures: one of numbers, and one of text that a table makes numbers."""

    def __init__(self) -> None:
        self.weight = tf.Variable(random(4, 3))
        keys, numbers = tf.constant(["a", "b", "c"]), tf.constant([1, 2, 3])
        rows = tf.lookup.KeyValueTensorInitializer(keys, numbers)
        self.table = tf.lookup.StaticHashTable(rows, 0)

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.int32, name="ids")])
    def numbers(self, ids: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"rows": tf.gather(self.weight, ids) * 2, "sum": tf.reduce_sum(self.weight)}

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, name="words")])
    def words(self, words: tf.Tensor) -> dict[str, tf.Tensor]:
        return self.numbers(tf.cast(self.table.lookup(words), tf.int32))


@pytest.fixture
def words(tmp_path: Path) -> Path:
    model = Words()
    signatures = {"numbers": model.numbers, "words": model.words}
    tf.saved_model.save(model, tmp_path / "words", signatures)
    return tmp_path / "words"


def test_a_keras_export(tmp_path: Path) -> None:
    model = network()
    model.export(tmp_path / "exported", verbose=False)
    for path in (tmp_path / "exported", str(tmp_path / "exported")):
        compiled = hidet_tf.compile(path, options=ERROR)
        x = random(7, 4)
        (name,) = compiled.fixed.bind.names
        (found,) = compiled(**{name: x}).values()
        np.testing.assert_allclose(found, model(x), rtol=1e-5, atol=1e-6)
        assert np.array_equal(found, *compiled(x).values())


def test_a_keras_file(tmp_path: Path) -> None:
    model = network()
    model.save(tmp_path / "model.keras")
    compiled = hidet_tf.compile(tmp_path / "model.keras", options=ERROR)
    x = random(7, 4)
    np.testing.assert_allclose(compiled(x), model(x), rtol=1e-5, atol=1e-6)
    assert not compiled.fixed.imported.variables  # nobody can write to them


def test_two_signatures_one_of_which_begins_with_text(words: Path) -> None:
    model = tf.saved_model.load(words)
    compiled = hidet_tf.compile(words, signature="numbers", options=ERROR)
    assert list(compiled.signatures) == ["numbers", "words"]
    assert compiled.signatures["numbers"] is compiled
    ids = np.array([3, 0, 1], np.int32)
    meant = model.signatures["numbers"](ids=tf.constant(ids))
    found = compiled(ids=ids)
    assert found.keys() == meant.keys()
    for name in meant:
        np.testing.assert_allclose(found[name], meant[name], rtol=1e-6)


def test_text_is_left_to_tensorflow_and_named(words: Path) -> None:
    model = tf.saved_model.load(words)
    with pytest.warns(UserWarning, match="LookupTableFindV2"):
        compiled = hidet_tf.compile(words, signature="words")
    given = tf.constant(["b", "?", "a"])
    meant = model.signatures["words"](words=given)
    for name, found in compiled(words=given).items():
        np.testing.assert_allclose(found, meant[name], rtol=1e-6)


def test_what_was_loaded_already(words: Path) -> None:
    model = tf.saved_model.load(words)
    compiled = hidet_tf.compile(model, signature="numbers", options=ERROR)
    before = compiled(ids=[1])["sum"]
    model.weight.assign(model.weight * 2)  # its owner can write to it
    np.testing.assert_allclose(compiled(ids=[1])["sum"], before * 2, rtol=1e-5)


def test_signatures_that_are_not_there(words: Path) -> None:
    with pytest.raises(BadArgument, match="the signatures numbers, words") as caught:
        hidet_tf.compile(words)
    assert caught.value.help == 'pass signature="..."'
    with pytest.raises(BadArgument, match="no signature 'other'"):
        hidet_tf.compile(words, signature="other")
    with pytest.raises(BadArgument, match="is for SavedModels"):
        hidet_tf.compile(network(), signature="words")
    with pytest.raises(BadArgument, match="has no signatures"):
        _ = hidet_tf.compile(network()).signatures


def shortened(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no-graph": lambda folder: (folder / "saved_model.pb").unlink(),
    "half-a-graph": lambda folder: shortened(folder / "saved_model.pb"),
    "half-the-weights": lambda folder: shortened(
        next((folder / "variables").glob("variables.data*"))
    ),
    "no-weights": lambda folder: (folder / "variables" / "variables.index").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=[*DAMAGES])
def test_a_damaged_folder(words: Path, damage: Callable[[Path], object]) -> None:
    damage(words)
    with pytest.raises(BadArgument, match="no whole SavedModel") as caught:
        hidet_tf.compile(words, signature="numbers")
    assert caught.value.help == "save the model again"


def test_no_file_and_a_damaged_one(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match=r"no SavedModel folder and no \.keras file"):
        hidet_tf.compile(tmp_path / "nothing")
    network().save(tmp_path / "model.keras")
    shortened(tmp_path / "model.keras")
    for name in ("model.keras", "nothing.keras"):
        with pytest.raises(BadArgument, match="cannot be loaded"):
            hidet_tf.compile(tmp_path / name)


def test_code_in_a_file_runs_only_if_it_is_trusted(tmp_path: Path) -> None:
    inputs = keras.Input((4,))
    layer = keras.layers.Lambda(lambda x: x * 2, output_shape=(4,))
    keras.Model(inputs, layer(inputs)).save(tmp_path / "lambda.keras")
    with pytest.raises(BadArgument, match="has code in it") as caught:
        hidet_tf.compile(tmp_path / "lambda.keras")
    assert "safe_mode=False" in str(caught.value.help)
    compiled = hidet_tf.compile(tmp_path / "lambda.keras", safe_mode=False, options=ERROR)
    x = random(3, 4)
    assert np.array_equal(compiled(x), x * 2)
