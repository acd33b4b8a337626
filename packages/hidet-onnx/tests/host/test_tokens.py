"""`com.microsoft.Tokenizer`, beside ONNX Runtime, and scikit-learn's models of texts with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import hidet_onnx
from hidet.errors import HidetError

pytest.importorskip("re2")
runtime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
WORDS = ["ab cd,ef", "", "xyz\u00e9  w, a", "ab12cd ab"]
PATTERNS = [
    {"separators": [""]},
    {"separators": [""], "mark": 1},
    {"separators": [" "]},
    {"separators": [",", " "], "mark": 1},
    {"separators": [" +|,"]},
    {"separators": [" "], "mincharnum": 3},
    {"separators": ["a", "ab"]},
    {"tokenexp": "[a-z]+"},
    {"tokenexp": "[a-z]*"},
    {"tokenexp": "a|ab"},
    {"tokenexp": r"\w\w+", "mark": 1},
    {"tokenexp": "[a-z]+", "mincharnum": 2},
]


def model(rank: int, **attributes: Any) -> ModelProto:
    given = {"mark": 0, "mincharnum": 1, "pad_value": "#", **attributes}
    node = helper.make_node("Tokenizer", ["x"], ["y"], domain="com.microsoft", **given)
    x = helper.make_tensor_value_info("x", TensorProto.STRING, [*"nm"][:rank])
    y = helper.make_tensor_value_info("y", TensorProto.STRING, [None] * (rank + 1))
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "tokens", [x], [y])
    return helper.make_model(graph, opset_imports=imports, ir_version=9)


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_tokens(pattern: dict[str, Any]) -> None:
    for x in (np.array(WORDS, object), np.array([["a b"], ["c"]], object), np.array([""], object)):
        proto = model(x.ndim, **pattern)
        (wanted,) = runtime.InferenceSession(proto.SerializeToString()).run(None, {"x": x})
        found = hidet_onnx.compile(proto)(x)
        assert found.shape == wanted.shape
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "needs separators or a tokenexp"),
        ({"tokenexp": "("}, "no pattern of RE2"),
        ({"separators": ["a*"]}, "matches the empty text"),
        ({"separators": [" "], "mincharnum": 0}, "mincharnum of 1 or more"),
    ],
)
def test_what_is_no_tokenizer(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(HidetError, match=message):
        hidet_onnx.compile(model(1, **attributes))(np.array(["a"], object))


@pytest.mark.parametrize("kind", ["TfidfVectorizer", "CountVectorizer"])
def test_texts_of_scikit_learn(kind: str) -> None:
    """Beside scikit-learn: ONNX Runtime lower-cases only where the locale en_US is installed."""
    text = pytest.importorskip("sklearn.feature_extraction.text")
    linear = pytest.importorskip("sklearn.linear_model")
    skl2onnx = pytest.importorskip("skl2onnx")
    pipeline = pytest.importorskip("sklearn.pipeline")
    texts = ["The quick brown fox", "jumps over the lazy dog", "Hello, hello fox!", "lazy words"]
    known = pipeline.make_pipeline(
        getattr(text, kind)(ngram_range=(1, 2), token_pattern="[a-zA-Z0-9_]+"),
        linear.LogisticRegression(C=100.0),
    ).fit(texts, [0, 1, 0, 1])
    proto = skl2onnx.convert_sklearn(
        known,
        initial_types=[("x", skl2onnx.common.data_types.StringTensorType([None]))],
        options={"zipmap": False},
    )
    compiled = hidet_onnx.compile(proto)
    for given in (texts, ["a lazy fox"], ["nothing known", "the dog over the FOX"]):
        labels, shares = compiled(np.array(given, object))
        np.testing.assert_array_equal(labels, known.predict(given))
        np.testing.assert_allclose(shares, known.predict_proba(given), rtol=1e-4, atol=1e-5)
