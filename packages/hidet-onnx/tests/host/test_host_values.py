"""Strings, maps and image files, beside ONNX Runtime: they are inputs and results of any value."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import hidet_onnx
from hidet.errors import BadArgument, HidetError
from hidet.frontend.importing.report import FallbackWarning

TEXT, FLOAT, INT = TensorProto.STRING, TensorProto.FLOAT, TensorProto.INT64
ML = "ai.onnx.ml"
pytestmark = pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")


def tensor(name: str, code: int, shape: list[Any] | None) -> Any:
    return helper.make_tensor_value_info(name, code, shape)


def model(nodes: list[Any], inputs: list[Any], outputs: list[Any], opset: int = 20) -> ModelProto:
    graph = helper.make_graph(nodes, "host", inputs, outputs)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(ML, 3)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9)


def texts(*values: str) -> np.ndarray[Any, Any]:
    return np.array(values, object)


def beside(proto: ModelProto, *calls: dict[str, Any]) -> None:
    """Results of several calls are those of ONNX Runtime, by one compiled form."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    compiled = hidet_onnx.compile(proto)
    for feeds in calls:
        for found, wanted in zip(compiled.run(named=feeds), session.run(None, feeds), strict=True):
            if isinstance(wanted, np.ndarray) and wanted.dtype.kind == "f":
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(found, wanted)
    assert compiled.variants.made == 1


def test_strings_before_numbers_and_numbers_before_strings() -> None:
    """Words become numbers, numbers are computed, and a label comes out."""
    nodes = [
        helper.make_node("StringNormalizer", ["words"], ["plain"], case_change_action="LOWER",
                         is_case_sensitive=0, stopwords=["the"], locale="C"),
        helper.make_node("LabelEncoder", ["plain"], ["ids"], domain=ML,
                         keys_strings=["cat", "dog"], values_int64s=[3, 5], default_int64=7),
        helper.make_node("Cast", ["ids"], ["real"], to=FLOAT),
        helper.make_node("Mul", ["real", "x"], ["scaled"]),
        helper.make_node("ReduceSum", ["scaled"], ["total"], keepdims=1),
        helper.make_node("Cast", ["total"], ["whole"], to=INT),
        helper.make_node("LabelEncoder", ["whole"], ["label"], domain=ML, keys_int64s=[15, 22],
                         values_strings=["many", "more"], default_string="other"),
    ]  # fmt: skip
    proto = model(
        nodes,
        [tensor("words", TEXT, [None]), tensor("x", FLOAT, [])],
        [tensor("scaled", FLOAT, [None]), tensor("label", TEXT, None)],
    )
    beside(
        proto,
        {"words": texts("Cat", "The", "DOG", "bird"), "x": np.array(1, np.float32)},
        {"words": texts("dog"), "x": np.array(3, np.float32)},
        {
            "words": texts("dog", "dog", "dog", "the", "cat", "cat", "cat"),
            "x": np.array(0.5, np.float32),
        },
    )


def test_movement_of_strings() -> None:
    nodes = [
        helper.make_node("Concat", ["a", "b"], ["both"], axis=0),
        helper.make_node("Gather", ["both", "index"], ["chosen"]),
        helper.make_node("Equal", ["chosen", "chosen"], ["same"]),
        helper.make_node("Shape", ["both"], ["shape"]),
    ]
    proto = model(
        nodes,
        [tensor("a", TEXT, ["n"]), tensor("b", TEXT, ["m"]), tensor("index", INT, ["k"])],
        [tensor(n, c, None) for n, c in
         (("chosen", TEXT), ("same", TensorProto.BOOL), ("shape", INT))],
    )  # fmt: skip
    first = {"a": texts("x", "y"), "b": texts("z"), "index": np.array([2, 0])}
    beside(proto, first, {"a": texts(), "b": texts("é", ""), "index": np.array([1, 1, 0])})


def test_pieces_of_strings() -> None:
    node = helper.make_node("StringSplit", ["x"], ["pieces", "counts"], delimiter=",", maxsplit=3)
    proto = model([node], [tensor("x", TEXT, ["n"])],
                  [tensor("pieces", TEXT, None), tensor("counts", INT, None)])  # fmt: skip
    beside(proto, {"x": texts("a,b", "c")}, {"x": texts("a,b,c,d,e", ",", "x")})


@pytest.mark.parametrize("case", ["NONE", "LOWER", "UPPER"])
@pytest.mark.parametrize("sensitive", [0, 1])
def test_cleaned_strings(case: str, sensitive: int) -> None:
    how = {"case_change_action": case, "is_case_sensitive": sensitive, "stopwords": ["The", "a"]}
    node = helper.make_node("StringNormalizer", ["x"], ["y"], locale="C", **how)
    proto = model([node], [tensor("x", TEXT, ["n"])], [tensor("y", TEXT, None)])
    beside(proto, {"x": texts("The", "the", "Cat", "a")}, {"x": texts("The", "a")})


def test_maps() -> None:
    node = helper.make_node("DictVectorizer", ["x"], ["y"], domain=ML,
                            string_vocabulary=["c", "b", "a"])  # fmt: skip
    map_type = helper.make_map_type_proto(TEXT, helper.make_tensor_type_proto(FLOAT, []))
    proto = model(
        [node, helper.make_node("Mul", ["y", "y"], ["z"])],
        [helper.make_value_info("x", map_type)],
        [tensor("z", FLOAT, None)],
    )
    beside(proto, {"x": {"a": 1.5, "c": 2.0}}, {"x": {"b": 3.0}})


def test_a_list_of_maps_comes_out() -> None:
    node = helper.make_node("ZipMap", ["y"], ["z"], domain=ML, classlabels_strings=["no", "yes"])
    pair = helper.make_map_type_proto(TEXT, helper.make_tensor_type_proto(FLOAT, []))
    proto = model(
        [helper.make_node("Softmax", ["x"], ["y"], axis=1), node],
        [tensor("x", FLOAT, ["n", 2])],
        [helper.make_value_info("z", helper.make_sequence_type_proto(pair))],
    )
    compiled = hidet_onnx.compile(proto)
    for rows in (1, 3):
        (found,) = compiled.run([np.zeros((rows, 2), np.float32)])
        assert found == [{"no": 0.5, "yes": 0.5}] * rows


def test_categories() -> None:
    table: dict[str, Any] = {"cats_int64s": [1, 2], "cats_strings": ["one", "two"]}
    to = helper.make_node("CategoryMapper", ["x"], ["y"], domain=ML, **table)
    back = helper.make_node("CategoryMapper", ["y"], ["z"], domain=ML, **table)
    proto = model([to, back], [tensor("x", TEXT, ["n"])],
                  [tensor("y", INT, None), tensor("z", TEXT, None)])  # fmt: skip
    beside(proto, {"x": texts("two", "three")}, {"x": texts("one")})


def test_images_of_any_size() -> None:
    pillow = pytest.importorskip("PIL.Image")
    decode = helper.make_node("ImageDecoder", ["file"], ["pixels"], pixel_format="BGR")
    proto = model(
        [decode, helper.make_node("Cast", ["pixels"], ["real"], to=FLOAT),
         helper.make_node("ReduceMean", ["real"], ["mean"], keepdims=0)],
        [tensor("file", TensorProto.UINT8, ["bytes"])],
        [tensor("mean", FLOAT, [])],
    )  # fmt: skip
    compiled = hidet_onnx.compile(proto)
    for height, width in ((1, 1), (7, 129)):
        pixels = np.random.default_rng(height).integers(0, 256, (height, width, 3), np.uint8)
        file = io.BytesIO()
        pillow.fromarray(pixels).save(file, "PNG")
        found = compiled(np.frombuffer(file.getvalue(), np.uint8))
        np.testing.assert_allclose(found, pixels.astype(np.float64).mean(), rtol=1e-6)
    with pytest.raises(HidetError, match="no image"):
        compiled(np.zeros(9, np.uint8))


def test_a_pattern_that_takes_for_ever_elsewhere() -> None:
    pytest.importorskip("re2")
    node = helper.make_node("RegexFullMatch", ["x"], ["y"], pattern="(a+)+b")
    proto = model([node], [tensor("x", TEXT, ["n"])], [tensor("y", TensorProto.BOOL, None)])
    found = hidet_onnx.compile(proto)(texts("a" * 60, "aab"))
    np.testing.assert_array_equal(found, [False, True])
    node.attribute[0].s = b"(a"
    bad = model([node], [tensor("x", TEXT, ["n"])], [tensor("y", TensorProto.BOOL, None)])
    with pytest.raises(HidetError, match="no pattern of RE2"):
        hidet_onnx.compile(bad)(texts("a"))


def test_what_is_on_the_host_is_said() -> None:
    node = helper.make_node("StringConcat", ["x", "x"], ["y"])
    proto = model([node], [tensor("x", TEXT, ["n"])], [tensor("y", TEXT, None)])
    with pytest.raises(HidetError, match="StringConcat"):
        hidet_onnx.compile(proto, options={"fallback": "error"})
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        compiled = hidet_onnx.compile(proto)
    assert any(each.category is FallbackWarning for each in seen)
    np.testing.assert_array_equal(compiled(texts("a")), ["aa"])
    np.testing.assert_array_equal(compiled(np.array(["b"])), ["bb"])
    with pytest.raises(HidetError, match="StringConcat runs on the host"):
        compiled.save("nowhere")
    with pytest.raises(HidetError, match="StringConcat runs on the host"):
        compiled.correctness_report(texts("a"))
    with pytest.raises(HidetError, match="StringConcat runs on the host"):
        hidet_onnx.from_onnx(proto)


def test_a_model_of_several_graphs_is_no_file(tmp_path: Path) -> None:
    """The error of `save` names what runs between the graphs."""
    x, y, z = (tensor(name, TEXT, [3]) for name in "xyz")
    made = model([helper.make_node("StringConcat", ["x", "y"], ["z"])], [x, y], [z])
    with pytest.raises(BadArgument, match="StringConcat runs on the host"):
        hidet_onnx.compile(made).save(tmp_path / "strings.hidet")
    assert not (tmp_path / "strings.hidet").exists()
