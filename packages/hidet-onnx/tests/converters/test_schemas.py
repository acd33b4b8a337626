"""Every operator of ONNX, in every version: converted as its schema says, or accounted for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, defs, helper
from onnx.defs import OpSchema

import hidet_onnx
from hidet.errors import HidetError
from hidet_onnx.converters import load, table
from hidet_onnx.importing.accepted import by_signature

DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")
load()


def schemas() -> Iterator[OpSchema]:
    """Every version of every operator that is in force in some version of its domain."""
    for schema in defs.get_all_schemas_with_history():
        if schema.domain in DOMAINS and not schema.deprecated:
            yield schema


CONVERTED = [
    (schema, convert)
    for schema in schemas()
    if (convert := table.find((schema.domain, schema.name), schema.since_version)) is not None
]


def title(given: object) -> str:
    return f"{given.name}-{given.since_version}" if isinstance(given, OpSchema) else ""


@pytest.mark.parametrize(("schema", "convert"), CONVERTED, ids=title)
def test_attributes_and_their_defaults_are_the_schemas(
    schema: OpSchema, convert: Callable[..., Any]
) -> None:
    named = {
        each.name: each
        for each in inspect.signature(convert).parameters.values()
        if each.kind is inspect.Parameter.KEYWORD_ONLY
    }
    assert schema.attributes.keys() <= named.keys()
    for name, attribute in schema.attributes.items():
        given = named[name].default
        if attribute.required or (title(schema), name) == MISSPELT:
            continue
        default = (
            helper.get_attribute_value(attribute.default_value)
            if attribute.default_value.name
            else None
        )
        assert same(given, default), f"{name}: {given!r} is not {default!r}"


MISSPELT = ("GRU-1", "direction")
"""The default is "foward" there."""


def test_every_converter_is_reached_by_some_schema() -> None:
    """A row that no version of an operator leads to would never be read."""
    reached = {
        (schema.domain, schema.name, since)
        for schema in defs.get_all_schemas_with_history()
        for since in table.versions((schema.domain, schema.name))
        if table.find((schema.domain, schema.name), schema.since_version)
        is table.find((schema.domain, schema.name), since)
    }
    rows = {(*key, n) for key in table if key[0] in DOMAINS for n in table.versions(key)}
    assert rows - reached == RUNTIME


RUNTIME = {("", "SimplifiedLayerNormalization", 1)}
"""What ONNX Runtime adds to the standard domain."""


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "message"),
    [
        ("MatMul", ["x", "x"], {"transpose_b": 1}, "MatMul .* has no attribute 'transpose_b'"),
        ("Greater", ["x", "x"], {"dtype": 1}, "Greater .* has no attribute 'dtype'"),
        ("Relu", ["x", "x"], {}, "Relu .* takes at most 1 operands, not 2"),
        ("Relu", [], {}, "Relu .* takes 1 operands or more, not 0"),
        ("Relu", ["x"], {"alpha": 1}, "Relu .* has no attribute 'alpha': it has none"),
        ("Cast", ["x"], {}, "Cast .* needs the attribute 'to'"),
    ],
)
def test_no_node_gives_what_its_schema_does_not_have(
    operator: str, operands: list[str], attributes: dict[str, Any], message: str
) -> None:
    """Converters may take more, and the functions of schemas do not look."""
    node = helper.make_node(operator, operands, ["y"], **attributes)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])
    graph = helper.make_graph([node], "g", [x], [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    with pytest.raises(HidetError, match=message):
        hidet_onnx.compile(model, options={"fallback": "error"})


def test_an_attribute_that_a_converter_takes_as_an_operand_is_explained() -> None:
    def convert(x: Any, beta: float = 1.0) -> Any: ...

    node = helper.make_node("Mine", ["x"], ["y"], domain="mine", beta=2.0)
    assert "takes 'beta' as an operand: put `*` before" in by_signature(convert).objection(node)


def same(given: Any, default: Any) -> bool:
    """Whether two defaults are equal; floats as float32."""
    if default is None:
        return given is None
    if isinstance(default, bytes):
        return bool(given == default.decode())
    if isinstance(default, list):
        return len(given) == len(default) and all(map(same, given, default))
    return bool(np.float32(given) == np.float32(default))


@pytest.mark.parametrize(("schema", "convert"), CONVERTED, ids=title)
def test_operands_are_as_many_as_the_schemas(schema: OpSchema, convert: Callable[..., Any]) -> None:
    given = [
        each
        for each in inspect.signature(convert).parameters.values()
        if each.kind is not inspect.Parameter.KEYWORD_ONLY
    ]
    variadic = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in given)
    if any(each.option == OpSchema.FormalParameterOption.Variadic for each in schema.inputs):
        assert variadic
    else:
        assert len(given) >= len(schema.inputs)
    for each, formal in zip(given, schema.inputs, strict=False):
        if formal.option == OpSchema.FormalParameterOption.Optional:
            assert each.default is None, f"{formal.name} may be left out"


HOST = {
    "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer",
    "ImageDecoder", "CategoryMapper", "DictVectorizer", "CastMap", "ZipMap", "LabelEncoder",
}  # fmt: skip
"""What works on strings, maps or files: it runs on the host."""


def test_every_version_is_accounted_for() -> None:
    converted = {(s.domain, s.name, s.since_version) for s, _ in CONVERTED}
    missing = {
        schema.name if convertible(schema.name) else f"{schema.name}-{schema.since_version}"
        for schema in schemas()
        if (schema.domain, schema.name, schema.since_version) not in converted
        and not (schema.has_function or schema.has_context_dependent_function)
        and schema.name not in HOST
    }
    assert missing == MISSING.keys()


def convertible(name: str) -> bool:
    """Whether no version of an operator is converted, so that its name stands for all."""
    return not any((domain, name) in table for domain in DOMAINS)


MISSING: dict[str, str] = {
    "Cast-1": "the type was a name then",
    "Gradient": "nobody implements it, onnx's reference neither",
    "MaxRoiPool": "no converter yet",
}
"""Operators, or early versions of them, that stay without a converter, and why."""
