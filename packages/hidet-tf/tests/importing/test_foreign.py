"""What TensorFlow runs: in the graph, or between graphs; named, and right."""

import warnings
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import hidet
import hidet_tf
from hidet.errors import BadArgument, UnsupportedOp
from hidet.frontend.importing.report import FallbackWarning

X = np.random.default_rng(0).standard_normal((4, 3, 3)).astype(np.float32)
TEXT = np.array([["the Cat", "sat"], ["on", "The mat"]])


def same(found: object, expected: object) -> None:
    """Two nested structures are the same, text to the letter."""
    flat = [tf.nest.flatten(each, expand_composites=True) for each in (found, expected)]
    for one, other in zip(*flat, strict=True):
        assert one.dtype == other.dtype
        if other.dtype == tf.string:
            np.testing.assert_array_equal(one, other)
        else:
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def singular(x: tf.Tensor) -> tf.Tensor:
    """An operator that the compiler lacks between two that it has."""
    return tf.tanh(tf.linalg.svd(x * 2.0, compute_uv=False))


def test_an_operator_on_numbers_is_a_step_of_the_graph_of_any_batch() -> None:
    with pytest.warns(FallbackWarning, match=r"Svd \(1x\)"):
        compiled = hidet_tf.compile(singular, tf.TensorSpec((None, 3, 3)))
    assert not compiled.latest().model.functions
    assert [str(size) for size in compiled.graph.outputs[0].shape] == ["x.0", "3"]
    for rows in (4, 1, 2):
        same(compiled(X[:rows]), singular(tf.constant(X[:rows])))


def test_a_file_keeps_such_a_step(tmp_path: Path) -> None:
    with pytest.warns(FallbackWarning):
        compiled = hidet_tf.compile(singular, tf.TensorSpec((None, 3, 3)))
    compiled.save(tmp_path / "model.hidet")
    (found,) = hidet.load(tmp_path / "model.hidet").run([X])
    np.testing.assert_array_equal(found.numpy(), compiled(X))


def test_it_can_be_forbidden() -> None:
    with pytest.raises(UnsupportedOp, match="Svd") as caught:
        hidet_tf.compile(singular, tf.TensorSpec((None, 3, 3)), options={"fallback": "error"})
    assert caught.value.place is not None
    assert caught.value.place.file == __file__


@tf.function
def cleaned(text: tf.Tensor, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Text through several operators, numbers of it through the compiler."""
    low = tf.strings.regex_replace(tf.strings.lower(text), " ", "_")
    lengths = tf.cast(tf.strings.length(low), tf.float32)
    return low, tf.exp(x) * lengths


def test_text_stays_in_tensorflow_neighbours_as_one() -> None:
    specs = tf.TensorSpec((None, 2), tf.string), tf.TensorSpec((None, 2))
    with pytest.warns(FallbackWarning, match=r"(?s)StringLower.*StaticRegexReplace.*StringLength"):
        compiled = hidet_tf.compile(cleaned, *specs)
    model = compiled.latest().model
    assert [each.name for each in model.functions] == [
        "StringLower, StaticRegexReplace, StringLength"
    ]
    assert len(model.functions[0].results) == 2
    x = X[0, :2, :2]
    same(compiled(TEXT, x), cleaned(TEXT, x))
    same(compiled(tf.constant(TEXT[:1]), x[:1]), cleaned(TEXT[:1], x[:1]))
    with pytest.raises(BadArgument, match="runs on the host"):
        compiled.save("nowhere.hidet")


def test_a_lookup_of_words_and_an_embedding() -> None:
    lookup = keras.layers.StringLookup(vocabulary=["cat", "mat"])
    text = keras.Input((2,), dtype="string", name="words")
    y = keras.layers.Dense(2)(keras.layers.Flatten()(keras.layers.Embedding(4, 3)(lookup(text))))
    model = keras.Model(text, y)
    given = tf.constant([["cat", "mat"], ["dog", "cat"]])
    with pytest.warns(FallbackWarning, match="LookupTableFindV2"):
        compiled = hidet_tf.compile(model)
    same(compiled(given), model(given))


def test_numbers_that_tensorflow_draws_come_in_order() -> None:
    @tf.function
    def draw(x):
        first = tf.random.uniform((3,), seed=1)
        return first + x, tf.random.uniform((3,), seed=1) - x

    with pytest.warns(FallbackWarning, match="RandomUniform"):
        compiled = hidet_tf.compile(draw, tf.TensorSpec((3,)))
    one, other = compiled(np.zeros(3, np.float32))
    again, _ = compiled(np.zeros(3, np.float32))
    assert len({*map(float, one), *map(float, -other), *map(float, again)}) == 9


def test_functions_of_python() -> None:
    def f(x):
        y = tf.py_function(lambda a: a.numpy()[::-1] * 3, [x], tf.float32)
        return tf.ensure_shape(y, (None, 3)) + 1.0

    with pytest.warns(FallbackWarning, match="EagerPyFunc"):
        compiled = hidet_tf.compile(f, tf.TensorSpec((None, 3)))
    same(compiled(X[0]), tf.constant(X[0, ::-1] * 3 + 1))


def test_ragged_tensors_go_in_and_out() -> None:
    def f(x):
        return tf.strings.upper(x), tf.RaggedTensor.from_row_splits(
            tf.cast(tf.strings.length(x.values), tf.float32) * 2.0, x.row_splits
        )

    ragged = tf.ragged.constant([["a", "bc"], [], ["def"]])
    with pytest.warns(FallbackWarning, match="StringUpper"):
        compiled = hidet_tf.compile(f, tf.RaggedTensorSpec((None, None), tf.string))
    same(compiled(ragged), f(ragged))


def test_what_graphs_compute_of_a_function_keeps_the_next_one_apart() -> None:
    def f(x):
        first = tf.linalg.svd(x, compute_uv=False)[:, :2]
        text = tf.strings.as_string(tf.exp(first))
        return tf.strings.length(text), tf.strings.join([text, "!"])

    with pytest.warns(FallbackWarning):
        compiled = hidet_tf.compile(f, tf.TensorSpec((2, 3, 3)))
    lengths, text = compiled(X[:2])
    expected = f(tf.constant(X[:2]))
    assert lengths.shape == expected[0].shape
    assert text.shape == expected[1].shape
    assert text.dtype == tf.string


def test_a_loop_that_stays_gets_the_lists_that_it_reads() -> None:
    """The compiler has taken apart what TensorFlow is to be given."""

    @tf.function
    def f(x):
        rows = tf.TensorArray(tf.string, 0, dynamic_size=True, element_shape=())
        total = tf.zeros((3,))
        for row in x:
            rows = rows.write(rows.size(), tf.strings.as_string(row[0] > 0))
            total += row
        return total * 2.0, rows.stack()

    with pytest.warns(FallbackWarning, match="While"):
        compiled = hidet_tf.compile(f, tf.TensorSpec((4, 3)))
    same(compiled(X[:, 0]), f(tf.constant(X[:, 0])))


def test_text_that_the_function_holds_is_a_result() -> None:
    compiled = hidet_tf.compile(lambda x: (tf.constant(["a", "b"]), x), tf.TensorSpec((2,)))
    same(compiled(X[0, 0, :2]), (tf.constant(["a", "b"]), tf.constant(X[0, 0, :2])))


def test_sizes_that_tensorflow_tells_come_after_those_of_inputs() -> None:
    """How many words there are is read of a row that a function between graphs gives."""
    text = np.array(["a b", "c", "d e f"])
    with pytest.warns(FallbackWarning, match="StringSplitV2"):
        compiled = hidet_tf.compile(tf.strings.split, tf.TensorSpec((None,), tf.string))
    same(compiled(text), tf.strings.split(text))
    same(compiled(text[1:]), tf.strings.split(text[1:]))


def test_rows_of_ragged_tensors_are_summed() -> None:
    spec = tf.RaggedTensorSpec((None, None), tf.float32)
    ragged = tf.ragged.constant([[1.0, 2.0], [], [3.0]])

    def f(x):
        return tf.reduce_sum(x, axis=1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        compiled = hidet_tf.compile(f, spec)
    same(compiled(ragged), f(ragged))


def test_a_size_may_be_one_more_or_less() -> None:
    """TensorFlow, asked twice, says so."""

    def f(x):
        return tf.raw_ops.Svd(input=x[1:], compute_uv=False)[0] * 2.0

    with pytest.warns(FallbackWarning, match="Svd"):
        compiled = hidet_tf.compile(f, tf.TensorSpec((None, 3, 3)))
    same(compiled(X), f(tf.constant(X)))
    same(compiled(X[:2]), f(tf.constant(X[:2])))


def test_what_is_asserted_is_looked_at() -> None:
    def f(x):
        tf.debugging.assert_positive(x)
        return tf.sqrt(x)

    with pytest.warns(FallbackWarning, match="Assert"):
        compiled = hidet_tf.compile(f, tf.TensorSpec((3,)))
    same(compiled([1.0, 4.0, 9.0]), tf.constant([1.0, 2.0, 3.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
        compiled([1.0, -4.0, 9.0])


def test_what_is_run_for_its_effects_runs_though_nobody_reads_it() -> None:
    seen = []

    def note(x):
        seen.append(float(x))
        return x

    def f(x):
        tf.py_function(note, [x], tf.float32)
        return x * 2.0

    with pytest.warns(FallbackWarning, match="EagerPyFunc"):
        compiled = hidet_tf.compile(f, tf.TensorSpec(()))
    compiled(3.0)
    compiled(4.0)
    assert seen == [3.0, 4.0]
