"""Operator sets: which version of each domain a model or a function is written for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onnx import NodeProto, OperatorSetIdProto

STANDARD = ("", "ai.onnx")
"""The two spellings of the standard domain."""


def versions_of(imports: Iterable[OperatorSetIdProto]) -> Mapping[str, int]:
    """The version of each domain; that of the standard domain is called ""."""
    return {spelled_domain(each.domain): each.version for each in imports}


def domain_of(node: NodeProto) -> str:
    """The domain of a node's operator."""
    return spelled_domain(node.domain)


def spelled_domain(domain: str) -> str:
    """A domain as the table of converters spells it."""
    return "" if domain in STANDARD else domain
