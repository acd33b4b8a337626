"""Operators on strings, maps and image files: what runs on the host, by functions of our own.

The table has those that onnx's reference evaluator lacks, or does by patterns that may take for
ever or by changing the process's locale; all others that the compiler lacks are the reference's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from onnx import TypeProto

from hidet_onnx.host import images, maps, strings, tokens
from hidet_onnx.host.packages import package

OWN: Mapping[tuple[str, str], Callable[..., Any]] = MappingProxyType(
    {
        ("", "ImageDecoder"): images.image_decoder,
        ("", "RegexFullMatch"): strings.regex_full_match,
        ("", "StringNormalizer"): strings.string_normalizer,
        ("ai.onnx.ml", "CastMap"): maps.cast_map,
        ("ai.onnx.ml", "CategoryMapper"): maps.category_mapper,
        ("ai.onnx.ml", "DictVectorizer"): maps.dict_vectorizer,
        ("ai.onnx.ml", "ZipMap"): maps.zip_map,
        ("com.microsoft", "Tokenizer"): tokens.tokenizer,
    }
)
"""By domain and operator: a function of operands and attributes that gives one result."""

NEEDS: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("", "ImageDecoder"): "PIL.Image",
        ("", "RegexFullMatch"): "re2",
        ("com.microsoft", "Tokenizer"): "re2",
    }
)

RANKS: Mapping[tuple[str, str], int] = MappingProxyType(
    {("ai.onnx.ml", "CastMap"): 2, ("ai.onnx.ml", "DictVectorizer"): 2}
)
"""How many axes results have where onnx's inference does not say it."""

TYPES: Mapping[tuple[str, str], Callable[..., TypeProto]] = MappingProxyType(
    {("com.microsoft", "Tokenizer"): tokens.tokens_type}
)
"""The type of the result for those of the operands, of operators that onnx does not know."""


def own(key: tuple[str, str]) -> Callable[..., Any] | None:
    """Our function of an operator, None if there is none; UnsupportedOp if a package is missing."""
    if key in NEEDS:
        package(NEEDS[key])
    return OWN.get(key)
